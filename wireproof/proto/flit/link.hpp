// One end of a flit link: PCI Express 6 and 7 in flit mode, CXL 3 with 256-byte flits, or the
// adapter of UCIe, by its Config. A LinkEngine; each message travels in one payload flit.
//
//   starting ──► active        (a new life or a dead peer leads back; a dead peer to inactive)
//
// The carrier must not lose a flit silently: for each flit that it cannot deliver it hands over one
// damaged frame, which may be empty. The receiver counts flits, because most of them carry no
// number.
#pragma once

#include "wireproof/core/link_deliveries.hpp"
#include "wireproof/proto/flit/receiver.hpp"
#include "wireproof/proto/flit/start_up.hpp"
#include "wireproof/proto/flit/transmitter.hpp"

namespace wireproof::flit {

/// A regular value; it allocates all its memory at construction. Only one thread may use it at a
/// time. While the link is up, each message arrives once and in order, whatever flits of both
/// directions are damaged (FLIT-19).
class Link {
public:
    using Delivery = LinkDelivery;

    enum class State : std::uint8_t { inactive, starting, active };

    explicit Link(const Config& config);

    // The calls of a LinkEngine. Before the link is active there is no room.
    std::size_t message_max() const { return message_max_; }
    bool has_room() const { return state_ == State::active && transmitter_.has_room(); }
    SubmitStatus submit(ConstBytes message);

    // The calls of an engine.
    RxVerdict on_frame(Instant now, const RxFrame& frame);
    std::optional<Delivery> next_delivery();
    void on_deadline(Instant now);
    void on_wire_event(Instant now, WireEvent event);
    bool poll_transmit(Instant now, TxFrame& out);
    Instant next_deadline() const;
    void fingerprint(Instant now, Fingerprint& sink) const;

    /// True: poll_transmit would return false at any time.
    bool quiet() const;

    State state() const { return state_; }
    const Stats& stats() const { return stats_; }
    Unanswered unanswered() const { return transmitter_.unanswered(); }
    const Transmitter& transmitter() const { return transmitter_; }
    const Receiver& receiver() const { return receiver_; }

private:
    enum class Timer : std::uint8_t { start, life };

    Instant tick(Instant now) const {
        return config_.continuous ? Instant(Duration(flits_sent_)) : now;
    }
    RxVerdict judge(Instant now, const RxFrame& frame);
    RxVerdict read(Instant now, const RxFrame& frame);
    RxVerdict judge_halves(Instant now, const RxFrame& frame);
    void use_even(ConstBytes flit);
    RxVerdict on_invalid(Instant now, RxVerdict verdict);
    RxVerdict on_valid(Instant now, const Header& header, std::optional<ConstBytes> message);
    bool check_bytes(RxFrame& frame);
    void start_up();
    void go_down();
    void activate(Instant now);
    bool send_start(Instant now, TxFrame& out);
    bool owes(const std::optional<NextPayload>& next) const;
    Command command_for(const std::optional<NextPayload>& next) const;
    void send_nop(Instant now, Command command, TxFrame& out);
    void write(const Header& header, ConstBytes message, TxFrame& out);

    Config config_;
    std::size_t message_max_;
    Transmitter transmitter_;
    Receiver receiver_;
    StartUp start_;
    State state_ = State::inactive;
    TimerTable<Timer, 2> timers_;  // on demand

    std::int64_t flits_sent_ = 0;  // the clock of a continuous line
    std::uint32_t explicit_in_row_ = 0;
    bool prior_payload_ = false;
    // On demand.
    std::uint32_t trailing_ = 0;  // NOPs that follow the last payload flit
    bool life_due_ = false;

    LinkDeliveries deliveries_;  // up and down; the receiver has the messages
    std::array<std::byte, flit_max> corrected_{};
    Stats stats_;
};

static_assert(LinkEngine<Link>);

}  // namespace wireproof::flit
