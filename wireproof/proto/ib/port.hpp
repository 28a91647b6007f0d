// One port of an adapter: many queue pairs behind one engine. Packets find their queue pair by its
// number, and only from the peer it is connected to; queue pairs take turns at sending.
//
// Everything but the memory of regions is the port's own, and all of it is named by number: a copy
// is another world, in which MemoryTable::put_memory may lend other memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/ib/adapter.hpp"
#include "wireproof/proto/ib/connected_queue_pair.hpp"
#include "wireproof/proto/ib/queue_pair_list.hpp"
#include "wireproof/proto/ib/ud_queue_pair.hpp"

namespace wireproof::proto::ib {

struct PortConfig {
    std::size_t path_mtu = 1024;  // the longest datagram, and the most a queue pair may be told
    std::vector<std::uint16_t> partitions = {default_partition};
    /// Of queue pairs that do not ask for one: they count up from here, and from 2 after 0xFFFFFE.
    /// Not to be guessed, where late packets of an earlier run could come.
    std::uint32_t first_number = 2;
    /// Keys of memory are drawn with it. Nothing: they count up, as in a simulation they may.
    std::optional<std::uint64_t> key_seed = {};
    /// How much RC may have under way with a peer. Off where a search or a laboratory counts
    /// packets.
    PeerWindows::Config peer_window = {};
};

/// What became of frames that no queue pair saw, by reason.
struct PortCounters {
    std::array<std::uint64_t, rx_verdict_names.size()> received{};  // all frames, by verdict
    std::array<std::uint64_t, malformed_names.size()> malformed{};  // by reason
    std::uint64_t damaged = 0;                                      // said who carried it
    std::uint64_t unknown_queue_pair = 0;
    std::uint64_t foreign_partition = 0;
    std::uint64_t foreign_source = 0;   // not the peer that the queue pair is connected to
    std::uint64_t wrong_transport = 0;  // of the queue pair
    std::uint64_t congestion = 0;       // notifications, which change nothing here

    std::uint64_t received_as(RxVerdict verdict) const {
        return received[static_cast<std::size_t>(verdict)];
    }
};

class Port {
public:
    using Delivery = PortEvent;

    explicit Port(const PortConfig& config);

    const PortConfig& config() const { return config_; }
    MemoryTable& memory() { return adapter_.memory; }
    const MemoryTable& memory() const { return adapter_.memory; }
    Neighbours& neighbours() { return adapter_.neighbours; }
    const PeerWindows& windows() const { return adapter_.windows; }
    /// Near: packets to the peer cost little and are never lost, and a full way holds the sender
    /// back, as with shared memory. No window bounds them, and ACKs are not held to be fewer.
    void set_near(PeerId peer, bool near) { adapter_.windows.set_near(peer, near); }

    // Queues live until they are removed; nothing may use them then.
    CompletionQueueId add_completion_queue(std::size_t capacity) {
        return adapter_.add_completion_queue(capacity);
    }
    /// Whether a queue pair completes into it.
    bool is_used(CompletionQueueId id) const;
    /// False: a queue pair uses it.
    bool remove(CompletionQueueId id);
    CompletionQueue& completion_queue(CompletionQueueId id) {
        return adapter_.completion_queue(id);
    }
    std::optional<Completion> poll(CompletionQueueId id) {
        return adapter_.completion_queue(id).poll();
    }
    SharedReceiveQueueId add_shared_receive_queue(std::uint32_t domain, std::size_t requests,
                                                  std::size_t pieces) {
        return adapter_.add_shared_receive_queue(domain, requests, pieces);
    }
    bool remove(SharedReceiveQueueId id);
    SharedReceiveQueue& shared_receive_queue(SharedReceiveQueueId id) {
        return adapter_.shared_receive_queue(id);
    }
    PostStatus post_receive(SharedReceiveQueueId id, const ReceiveRequest& request) {
        return adapter_.shared_receive_queue(id).ring.post(request);
    }

    /// Its number; an error if that is taken, or the transport or a limit is not one of ours.
    Expected<std::uint32_t> add_queue_pair(const QueuePairConfig& config);
    /// What was posted is forgotten, and so are completions that nobody has polled. False: there is
    /// none.
    bool remove_queue_pair(std::uint32_t number);
    /// An acknowledgement that the queue pair holds leaves at the next chance. To be called, and
    /// packets sent, before it is removed or reset: its peer would wait for that in vain.
    void release_acks(std::uint32_t number);
    ModifyStatus modify(std::uint32_t number, const QueuePairChange& change);
    PostStatus post_send(std::uint32_t number, const WorkRequest& request);
    PostStatus post_receive(std::uint32_t number, const ReceiveRequest& request);
    std::size_t queue_pairs() const { return queue_pairs_.size(); }
    /// Null: there is none.
    const QueuePairCore* queue_pair(std::uint32_t number) const;
    /// Nothing: there is no such queue pair.
    std::optional<Psns> psns(std::uint32_t number) const;
    /// The queue pair whose packet left last.
    std::uint32_t last_sender() const { return last_turn_; }
    /// Its `nth` work request from now on, counted from 1, ends with that status when it is its
    /// turn, and no packet leaves for it: for users who want to see how theirs bear it. Nothing: it
    /// does not exist.
    void fail_send(std::uint32_t number, std::uint64_t nth, CompletionStatus status);
    /// The nth message from now on, counted from 1, that takes a receive request makes it end so,
    /// and puts the queue pair in error.
    void fail_receive(std::uint32_t number, std::uint64_t nth, CompletionStatus status);
    /// The oldest packet of an RC queue pair, if it was sent again and not answered.
    Unanswered unanswered(std::uint32_t number) const;

    /// Packets of RC that are unanswered by the peer that the queue pair is connected to, of all
    /// its queue pairs. 0: it is none of RC, or its peer is near.
    std::uint32_t packets_under_way(std::uint32_t number) const;

    // Engine. Lives of peers mean nothing to queue pairs: a silent one runs into its retries.
    RxVerdict on_frame(Instant now, const RxFrame& frame);
    std::optional<Delivery> next_delivery() { return adapter_.next_event(); }
    void on_deadline(Instant now);
    void on_wire_event(Instant, WireEvent) {}
    /// To any peer; for a wire with one.
    bool poll_transmit(Instant now, TxFrame& out) {
        return transmit(now, nullptr, PacketsOf::every, out);
    }
    Instant next_deadline() const { return timed_.next_deadline(); }
    /// Whether on_deadline would find a packet unanswered, or a wait for a receiver over.
    bool timeout_is_due(Instant now) const;
    void fingerprint(Instant now, Fingerprint& sink) const;

    enum class PacketsOf : std::uint8_t { every, datagrams };  // transport; UD
    /// Only packets to this peer, of these transports.
    bool poll_transmit_to(Instant now, PeerId peer, TxFrame& out,
                          PacketsOf which = PacketsOf::every) {
        return transmit(now, &peer, which, out);
    }
    /// The peers that there may be packets to, each once, beginning with that of the queue pair
    /// whose turn it is. Replaces what `peers` holds.
    void ready_peers(std::vector<PeerId>& peers) const;

    const PortCounters& counters() const { return counters_; }
    /// The sum of all queue pairs' that there are or were.
    QueuePairCounters total() const;
    /// Of all queue pairs there are, in ascending order.
    std::vector<std::uint32_t> numbers() const;

private:
    using QueuePair = std::variant<UcQueuePair, RcQueuePair, UdQueuePair>;

    RxVerdict receive(Instant now, const RxFrame& frame);
    RxVerdict on_packet(Instant now, const RxFrame& frame, const Bth& bth, const Packet* packet);
    bool in_partition(const Bth& bth, const QueuePairCore& core) const;
    bool transmit(Instant now, const PeerId* peer, PacketsOf which, TxFrame& out);
    QueuePair* find(std::uint32_t number);
    /// Something was done with it: it may have something to send now, another deadline, or lost a
    /// completion. note_asked: it was asked for a packet.
    void note(std::uint32_t number, QueuePair& queue_pair);
    void note_asked(std::uint32_t number, QueuePair& queue_pair);
    /// Queue pairs that waited for room with this peer may find some.
    void wake_others(PeerId peer);

    PortConfig config_;
    Adapter adapter_;
    std::map<std::uint32_t, QueuePair> queue_pairs_;
    QueuePairList ready_;  // all but those that had nothing to send when they were asked last
    QueuePairList timed_;  // those with a deadline
    std::uint32_t next_number_;
    std::uint32_t last_turn_ = 0;  // the queue pair that sent last
    PortCounters counters_;
    QueuePairCounters ended_;  // of queue pairs that were removed
};

static_assert(Engine<Port>);

}  // namespace wireproof::proto::ib
