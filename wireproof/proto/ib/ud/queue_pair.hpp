// A queue pair for datagrams. Each message is one packet, to any queue pair of any peer. A datagram
// may be lost, duplicated or reordered.
#pragma once

#include "wireproof/proto/ib/packet/network_header.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

namespace wireproof::proto::ib {

class UdQueuePair {
public:
    /// Bytes of a receive request before the message, for the network header. The queue pair writes
    /// the header if the port knows both addresses. Otherwise these bytes stay unchanged.
    static constexpr std::uint32_t front_room = network_header_size;

    /// `path_mtu` is the length of the longest message in bytes.
    UdQueuePair(const QueuePairConfig& config, std::size_t path_mtu)
        : core_(config), path_mtu_(path_mtu) {}

    const QueuePairCore& core() const { return core_; }
    static constexpr Transport transport() { return Transport::ud; }

    void set_partition(std::uint16_t partition) { core_.partition = partition; }
    ModifyStatus modify(const QueuePairChange& change, Adapter& adapter);
    PostStatus post_send(const WorkRequest& request, Adapter& adapter);
    PostStatus post_receive(const ReceiveRequest& request, Adapter& adapter);
    void fail_send(std::uint64_t nth, CompletionStatus status) { core_.sends.fail(nth, status); }
    void fail_receive(std::uint64_t nth, CompletionStatus status) {
        core_.receives.fail(nth, status);
    }

    RxVerdict on_packet(const Packet& packet, PeerId from, Adapter& adapter);
    /// A packet with an opcode that does not exist.
    RxVerdict on_reserved() {
        ++core_.counters.not_allowed;
        return RxVerdict::malformed;
    }
    bool poll_transmit(Instant now, TxFrame& out, Adapter& adapter);
    /// The destination of the next datagram.
    std::optional<PeerId> next_peer() const;
    Instant next_deadline() const { return never; }
    void enter_error(Adapter& adapter) { core_.enter_error(adapter); }
    void leave(Adapter&) {}
    Psns psns() const { return {.send = next_}; }
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    bool write_front(const ReceiveEntry& entry, const Packet& packet, PeerId from,
                     const Adapter& adapter) const;

    QueuePairCore core_;
    std::size_t path_mtu_;
    Psn next_ = {};
};

}  // namespace wireproof::proto::ib
