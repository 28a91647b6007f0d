// InfiniBand's RC and UC as ends of a point. A unit is an RDMA Write of one packet.
#pragma once

#include "wireproof/lab/link_retry/retry_ends.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::lab {

/// A port on a line where a byte takes a nanosecond, because RC counts its timeouts in 4.096 us.
class BytePort {
public:
    using Delivery = proto::ib::PortEvent;

    static constexpr std::int64_t byte_time = 1000;  // picoseconds

    explicit BytePort(proto::ib::Port port) : port_(std::move(port)) {}

    RxVerdict on_frame(Instant now, const RxFrame& frame) {
        return port_.on_frame(inside(now), frame);
    }
    std::optional<Delivery> next_delivery() { return port_.next_delivery(); }
    void on_deadline(Instant now) { port_.on_deadline(inside(now)); }
    void on_wire_event(Instant now, WireEvent event) { port_.on_wire_event(inside(now), event); }
    bool poll_transmit(Instant now, TxFrame& out) { return port_.poll_transmit(inside(now), out); }
    Instant next_deadline() const {
        const Instant deadline = port_.next_deadline();
        if (deadline == never) return never;
        const std::int64_t time = deadline.since_start().picoseconds();
        return Instant(Duration((time + byte_time - 1) / byte_time));
    }
    void fingerprint(Instant now, Fingerprint& sink) const { port_.fingerprint(inside(now), sink); }

    proto::ib::Port& port() { return port_; }
    const proto::ib::Port& port() const { return port_; }

private:
    static Instant inside(Instant now) { return Instant(now.since_start() * byte_time); }

    proto::ib::Port port_;
};

template <proto::ib::Transport transport>
struct IbRetryEnd {
    static constexpr bool reliable = transport == proto::ib::Transport::rc;
    static constexpr std::uint32_t queue_pair = 2;
    static constexpr std::size_t own_max = 64;
    static constexpr RetryOrder order = reliable ? RetryOrder::oldest : RetryOrder::never_again;

    BytePort engine;
    proto::ib::Piece source;     // the bytes that this side writes
    proto::ib::WorkTerms write;  // and the place at the peer

    void feed() {
        if (waits()) return;
        (void)engine.port().post_send(queue_pair,
                                      {.terms = write, .pieces = std::span(&source, 1)});
    }
    LinkStats stats() const {
        const proto::ib::QueuePairCounters& all = core().counters;
        return {.received = engine.port().counters().received,
                .numbered = all.sent,
                .resent = all.resent,
                .acks = all.acks_sent,
                .naks = all.naks_sent,
                .upkeep = 0,
                .replays = all.went_back + all.timeouts,
                .timeouts = all.timeouts,
                .resets = 0};
    }
    std::uint64_t numbered() const { return core().counters.sent; }
    bool up() const { return core().state() == proto::ib::QueuePairState::rts; }
    bool quiet() const { return false; }
    std::size_t kept() const { return core().sends.size() - (waits() ? 1 : 0); }
    std::uint64_t stride() const { return 64; }  // a power of two, like the number of PSNs

    static FrameInfo describe(ConstBytes frame) { return proto::ib::describe(frame); }
    static bool is_notice(ConstBytes frame) {
        const auto packet = proto::ib::Packet::decode({.bytes = frame});
        return packet && packet->opcode->verb == proto::ib::Verb::acknowledge &&
               packet->headers.aeth.syndrome.nak_code().has_value();
    }

private:
    const proto::ib::QueuePairCore& core() const { return *engine.port().queue_pair(queue_pair); }
    // Whether the last posted Write has not begun to leave.
    bool waits() const {
        const proto::ib::SendQueue& sends = core().sends;
        return !sends.empty() && !sends[sends.size() - 1].begun;
    }

public:
    IbRetryEnd(proto::ib::Port port, const proto::ib::Piece& from,
               const proto::ib::WorkTerms& terms)
        : engine(std::move(port)), source(from), write(terms) {}
};

using RcEnd = IbRetryEnd<proto::ib::Transport::rc>;
using UcEnd = IbRetryEnd<proto::ib::Transport::uc>;

static_assert(RetryEnd<RcEnd>);
static_assert(RetryEnd<UcEnd>);

}  // namespace wireproof::lab
