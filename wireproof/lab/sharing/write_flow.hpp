// A flow of a shared link: RDMA Writes without end on an RC queue pair, by the real engine. The
// number of the node stands in front of each packet.
#pragma once

#include <array>
#include <vector>

#include "wireproof/core/pump.hpp"
#include "wireproof/lab/sharing/shared_link.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::lab {

class WriteFlow final : public LinkFlow {
public:
    /// `number`: the place of the flow among the flows of its link, from 0.
    WriteFlow(proto::ib::Congestion congestion, std::uint16_t number)
        : memory_(2 * piece), ends_{End(memory_), End(memory_)} {
        for (std::uint16_t end = 0; end < 2; ++end) {
            connect(ends_[end].port, congestion);
            ends_[end].node = static_cast<std::uint16_t>(2 * number + end);
        }
    }
    WriteFlow(const WriteFlow&) = delete;
    WriteFlow& operator=(const WriteFlow&) = delete;
    ~WriteFlow() override = default;

    void on_data(Instant now, const RxFrame& frame) override {
        ends_[1].port.on_frame(now, inner(frame));
    }
    void on_answer(Instant now, const RxFrame& frame) override {
        ends_[0].port.on_frame(now, inner(frame));
        while (const auto completion = ends_[0].port.poll(ends_[0].completions)) {
            WIREPROOF_CHECK(completion->status == proto::ib::CompletionStatus::success);
            --under_way_;
            arrived_ += piece;
        }
    }
    void turn(Instant now, SharedLink& link) override {
        for (End& end : ends_) {
            if (end.port.next_deadline() <= now) end.port.on_deadline(now);
        }
        for (; under_way_ < pieces_under_way; ++under_way_) {
            const proto::ib::Piece from{base, piece, ends_[0].key};
            const proto::ib::WorkTerms terms{.request = proto::ib::Request::write,
                                             .remote_address = base + piece,
                                             .remote_key = ends_[1].key};
            const auto posted = ends_[0].port.post_send(
                queue_pair, {.terms = terms, .pieces = std::span(&from, 1)});
            WIREPROOF_CHECK(posted == proto::ib::PostStatus::accepted);
        }
        send(ends_[0].port, ends_[1].node, link.there(), now);
        send(ends_[1].port, ends_[0].node, link.back(), now);
    }
    Instant next_deadline() const override {
        return earliest(ends_[0].port.next_deadline(), ends_[1].port.next_deadline());
    }
    std::uint64_t arrived() const override { return arrived_; }
    const proto::ib::QueuePairCounters& sender() const {
        return ends_[0].port.queue_pair(queue_pair)->counters;
    }
    const proto::ib::QueuePairCounters& receiver() const {
        return ends_[1].port.queue_pair(queue_pair)->counters;
    }

    static constexpr std::size_t path_mtu = 1024;
    static constexpr std::size_t packet_bytes =
        path_mtu + proto::ib::Bth::size + 2;  // with the number

private:
    static constexpr std::uint64_t base = 0x10000;
    static constexpr std::uint32_t piece = 32 * 1024;
    static constexpr std::uint32_t queue_pair = 5;
    static constexpr std::size_t pieces_under_way = 16;
    static constexpr std::uint32_t domain = 1;

    struct End {
        explicit End(Bytes memory) : port({.path_mtu = path_mtu}) {
            completions = port.add_completion_queue(2 * pieces_under_way);
            key = port.memory()
                      .add_region({.domain = domain,
                                   .address = base,
                                   .memory = memory,
                                   .access = {.local_write = true, .remote_write = true}})
                      .value();
            const auto added = port.add_queue_pair({.number = queue_pair,
                                                    .domain = domain,
                                                    .send_completions = completions,
                                                    .receive_completions = completions,
                                                    .signal_all = true,
                                                    .timeout_factor = 4});
            WIREPROOF_CHECK(added.has_value());
        }
        proto::ib::Port port;
        proto::ib::CompletionQueueId completions{};
        std::uint32_t key = 0;
        std::uint16_t node = 0;
    };

    static constexpr std::size_t prefix = 2;

    static void connect(proto::ib::Port& port, proto::ib::Congestion congestion) {
        const auto init = port.modify(queue_pair, proto::ib::to_init({.remote_write = true}));
        const auto ready = proto::ib::connect(port, queue_pair,
                                              {.dest_queue_pair = queue_pair,
                                               .receive_psn = proto::ib::Psn(0xFFFFF0),
                                               .send_psn = proto::ib::Psn(0xFFFFF0),
                                               .congestion = congestion});
        WIREPROOF_CHECK(init == proto::ib::ModifyStatus::done &&
                        ready == proto::ib::ModifyStatus::done);
    }
    static RxFrame inner(const RxFrame& frame) {
        RxFrame packet = frame;
        packet.bytes = frame.bytes.subspan(prefix);
        packet.from = {};
        return packet;
    }
    static void send(proto::ib::Port& port, std::uint16_t to, sim::Cable& cable, Instant now) {
        cable.look(now);
        std::array<std::byte, proto::ib::packet_max(path_mtu)> room{};
        while (TxFrame* const frame = cable.claim()) {
            TxFrame packet;
            packet.open(room, {.frame_max = room.size(), .carries_intact = true});
            if (!port.poll_transmit(now, packet)) break;
            store_le(frame->add_header<prefix>(), to);
            packet.gather(frame->add_room(packet.size()));
            cable.commit();
        }
        cable.flush(now);
    }

    std::vector<std::byte> memory_;
    std::array<End, 2> ends_;
    std::size_t under_way_ = 0;
    std::uint64_t arrived_ = 0;
};

}  // namespace wireproof::lab
