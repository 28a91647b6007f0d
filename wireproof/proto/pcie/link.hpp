// The data link layer of PCI Express, non-flit: ACK/NAK retry, credits, start-up. One end of a link
// on virtual channel 0; a LinkEngine whose messages travel as memory writes.
//
//   DL_Inactive ──► FC_INIT1 ──► FC_INIT2 ──► DL_Active        (a new life or a dead peer leads
//                                                               back to DL_Inactive)
#pragma once

#include "wireproof/core/link_deliveries.hpp"
#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/pcie/receiver.hpp"
#include "wireproof/proto/pcie/transmitter.hpp"

namespace wireproof::pcie {

/// A regular value; it allocates all its memory at construction. Only one thread may use it at a
/// time. While the link is up, each message arrives once and in order, even if frames are lost or
/// damaged (PCIE-31).
class Link {
public:
    using Delivery = LinkDelivery;

    enum class State : std::uint8_t { inactive, fc_init1, fc_init2, active };

    /// The physical link is up: start-up begins with the first poll_transmit.
    explicit Link(const Config& config);

    // The calls of a LinkEngine. Before DL_Active there is no room.
    std::size_t message_max() const { return config_.payload_max; }
    bool has_room() const { return state_ == State::active && transmitter_.has_room(); }
    SubmitStatus submit(ConstBytes message) { return submit(FlowType::posted, message); }
    /// `type` is posted or non_posted. Both kinds leave in the order of submission.
    SubmitStatus submit(FlowType type, ConstBytes message);

    // The calls of an engine.
    RxVerdict on_frame(Instant now, const RxFrame& frame);
    std::optional<Delivery> next_delivery() { return deliveries_.next(); }
    void on_deadline(Instant now);
    void on_wire_event(Instant now, WireEvent event);
    bool poll_transmit(Instant now, TxFrame& out);
    Instant next_deadline() const;
    void fingerprint(Instant now, Fingerprint& sink) const;

    /// The next new TLP is sent nullified first, as by a switch that began to forward a TLP whose
    /// end was damaged (PCIE-19).
    void nullify_next() { transmitter_.nullify_next(); }
    /// The physical layer retrains: no frame leaves for Config::retrain_time.
    void retrain(Instant now) { transmitter_.retrain(now); }

    /// True: poll_transmit would return false at any time. Simulations ask this first, because a
    /// turn without a frame costs as much as one with a frame.
    bool quiet() const {
        return state_ == State::active && !receiver_.owes() && (answers_due_ | updates_due_) == 0 &&
               transmitter_.quiet();
    }

    State state() const { return state_; }
    const Stats& stats() const { return stats_; }
    Unanswered unanswered() const { return transmitter_.unanswered(); }
    const Transmitter& transmitter() const { return transmitter_; }
    const Receiver& receiver() const { return receiver_; }

private:
    enum class Timer : std::uint8_t { init, update };

    RxVerdict on_tlp(Instant now, const RxFrame& frame);
    RxVerdict on_dllp(Instant now, const RxFrame& frame);
    RxVerdict on_flow_control(Instant now, DllpKind kind, const Dllp& dllp);
    void deliver(const TlpHead& head, const TlpPieces& tlp);

    void go_down();
    void activate(Instant now);
    bool send_init(Instant now, TxFrame& out);
    bool send_flow_control(Instant now, TxFrame& out);
    void send(const Dllp& dllp, TxFrame& out) const;
    bool updates_itself(std::size_t type) const;

    Config config_;
    Transmitter transmitter_;
    Receiver receiver_;
    std::array<CreditGrant, flow_types> grants_;
    TimerTable<Timer, 2> timers_;
    State state_ = State::fc_init1;

    std::uint8_t seen_ = 0;  // a bit for each kind whose InitFC has arrived
    // Next of the InitFC triple that is being sent; 3: all three have left.
    std::uint8_t init_next_ = 0;
    std::uint8_t answers_due_ = 0;  // InitFC2 for a peer that still starts up, a bit for each kind
    std::uint8_t updates_due_ = 0;  // UpdateFC, a bit for each kind

    LinkDeliveries deliveries_;
    Stats stats_;
};

static_assert(LinkEngine<Link>);

}  // namespace wireproof::pcie
