// One end of an Ultra Ethernet link with Link Layer Retry. A LinkEngine: its messages travel as
// eligible frames, which have numbers and are resent until they are acknowledged. It can also send
// ineligible frames, which have neither number nor promise.
//
// An end is up when its receiver has the INIT of the peer's present life. A flush ends the life of
// both directions (Config::restarts_both_ways).
#pragma once

#include "wireproof/core/link_deliveries.hpp"
#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/ue/ctl_slots.hpp"
#include "wireproof/proto/ue/transmitter.hpp"

namespace wireproof::ue {

/// A regular value; it allocates all its memory at construction. Only one thread may use it at a
/// time. While the link is up, each message arrives once and in order, even if frames are lost or
/// damaged (LLR-36). A flush loses messages: each of them is counted, and the link goes down
/// (LLR-17).
class Link {
public:
    using Delivery = LinkDelivery;

    /// The peer is known to have LLR: INIT begins with the first poll_transmit.
    explicit Link(const Config& config);

    // The calls of a LinkEngine.
    std::size_t message_max() const { return config_.payload_max; }
    bool has_room() const;
    SubmitStatus submit(ConstBytes message);

    // The calls of an engine.
    RxVerdict on_frame(Instant now, const RxFrame& frame);
    std::optional<Delivery> next_delivery() { return deliveries_.next(); }
    void on_deadline(Instant now);
    /// peer_gone: LLR_OFF. new_life: both directions begin again with INIT.
    void on_wire_event(Instant now, WireEvent event);
    bool poll_transmit(Instant now, TxFrame& out);
    Instant next_deadline() const;
    void fingerprint(Instant now, Fingerprint& sink) const;

    /// Copies a message that leaves without a number: it may be lost or overtake (LLR-20).
    SubmitStatus submit_ineligible(ConstBytes message);
    /// The next message that takes a number leaves poisoned, as by a switch that began to forward a
    /// frame whose end was damaged (LLR-10).
    void poison_next() { transmitter_.poison_next(); }
    /// Whether the message that next_delivery returned last was poisoned. Only with
    /// Config::delivers_poisoned.
    bool poisoned() const { return poisoned_; }
    /// Management begins INIT after a flush, or from LLR_OFF. Else nothing happens.
    void re_init();
    /// The physical layer lost or found the peer. Without it, no frame leaves or arrives.
    void on_pcs(Instant now, bool up);

    /// True: poll_transmit would return false at any time. Simulations ask this first, because a
    /// turn without a frame costs as much as one with a frame.
    bool quiet() const;

    bool up() const { return up_; }
    const Stats& stats() const { return stats_; }
    Unanswered unanswered() const { return transmitter_.unanswered(); }
    const Transmitter& transmitter() const { return transmitter_; }
    const Receiver& receiver() const { return receiver_; }

private:
    enum class Timer : std::uint8_t { idle, pcs };
    enum class Age : std::uint8_t { same, newer, older };

    RxVerdict on_eligible(std::uint32_t number, const RxFrame& frame);
    RxVerdict on_ineligible(const RxFrame& frame);
    RxVerdict deliver(const FramePieces& pieces, bool poisoned);
    RxVerdict on_ctl(Instant now, const RxFrame& frame);
    RxVerdict on_init(const CtlOs& init);
    RxVerdict obey(Transmitter::Outcome outcome);

    Age age_of(std::uint16_t init_data) const;
    std::uint16_t next_life() const;
    void flush();
    void go_down();
    void restart(std::uint16_t life);
    void end_life();
    void begin_init();
    void come_up_if_ready();
    Behavior behavior() const;

    bool is_due(CtlType type) const;
    Instant slot_deadline() const;
    CtlOs take(CtlType type);
    bool send_ctl(Instant now, TxFrame& out);
    bool send_ineligible(TxFrame& out);

    Config config_;
    Transmitter transmitter_;
    Receiver receiver_;
    CtlSlots slots_;
    MessageQueue<> ineligible_;
    TimerTable<Timer, 2> timers_;
    Instant seen_;  // the last time of on_frame or on_deadline
    bool pcs_up_ = true;
    bool up_ = false;
    bool flushed_ = false;  // and the sender is not in ADVANCE again

    LinkDeliveries deliveries_;
    bool poisoned_ = false;
    Stats stats_;
};

static_assert(LinkEngine<Link>);

}  // namespace wireproof::ue
