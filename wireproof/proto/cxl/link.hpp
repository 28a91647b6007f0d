// The link layer retry of CXL with flits of 68 bytes. One end of a link; a LinkEngine whose
// messages travel in one flit each.
//
//   down     training ──► initialising ──► up         (a new life of the peer, or PHY_REINIT, leads
//   (ABORT)               INIT.Param                   back to training)
#pragma once

#include "wireproof/core/link_deliveries.hpp"
#include "wireproof/proto/cxl/local_retry.hpp"
#include "wireproof/proto/cxl/receiver.hpp"
#include "wireproof/proto/cxl/remote_retry.hpp"
#include "wireproof/proto/cxl/sender.hpp"
#include "wireproof/proto/cxl/stats.hpp"
#include "wireproof/proto/cxl/training.hpp"

namespace wireproof::cxl {

/// A regular value; it allocates all its memory at construction. Only one thread may use it at a
/// time. The line below must not lose a flit in silence: in place of a lost flit, it hands over a
/// damaged frame. Then each message arrives once and in order.
class Link {
public:
    using Delivery = LinkDelivery;

    enum class State : std::uint8_t { down, training, initialising, up };

    /// Training begins with the first poll_transmit.
    explicit Link(const Config& config);

    // The calls of a LinkEngine. Before the peer's INIT.Param there is no room.
    std::size_t message_max() const { return message_room; }
    bool has_room() const { return ready_ && sender_.has_room(); }
    /// The engine copies the message: a flit is too short for anything else to be cheaper.
    SubmitStatus submit(ConstBytes message);

    // The calls of an engine.
    RxVerdict on_frame(Instant now, const RxFrame& frame);
    std::optional<Delivery> next_delivery() { return deliveries_.next(); }
    void on_deadline(Instant now);
    void on_wire_event(Instant now, WireEvent event);
    bool poll_transmit(Instant now, TxFrame& out);
    Instant next_deadline() const;
    void fingerprint(Instant now, Fingerprint& sink) const {
        fingerprint_without_trainings(now, sink);
        sink.add(training_.own_number());
        sink.add(down_ ? 0 : training_.peers_number().value_or(0));
    }
    /// Without the numbers of trainings. Links act alike whose numbers differ by a shift.
    void fingerprint_without_trainings(Instant now, Fingerprint& sink) const;

    /// The physical layer trains again, for a reason of its own. The peer trains, too.
    void retrain(Instant now);

    /// True: poll_transmit would return false at any time before another call.
    bool quiet() const;

    State state() const;
    const Stats& stats() const { return stats_; }
    Unanswered unanswered() const { return backoff_.unanswered(); }
    const LocalRetry& lrsm() const { return local_; }
    const RemoteRetry& rrsm() const { return remote_; }
    const Sender& sender() const { return sender_; }
    const Receiver& receiver() const { return receiver_; }
    const Training& training() const { return training_; }

private:
    // RETRY.Frames, followed by a RETRY.Req or RETRY.Ack at once.
    enum class Sequence : std::uint8_t { none, request, ack };

    RxVerdict on_frame_when_down(const RxFrame& frame);
    RxVerdict on_training_set(Instant now, const TrainingSet& set);
    RxVerdict on_damaged(Instant now);
    RxVerdict on_flit(Instant now, FlitData flit);
    RxVerdict on_retryable(Instant now, FlitKind kind, FlitData flit);
    RxVerdict on_init(FlitData flit);
    RxVerdict on_request(const RetryRequest& request);
    RxVerdict on_ack(Instant now, const RetryAck& ack);
    RxVerdict on_idle();
    void free_buffers(Instant now, std::uint32_t acks);
    void after_lrsm(Instant now);
    void on_timeout(Instant now);

    void start_up(Instant now);
    void clear_retry();
    void go_down();

    bool send_down(TxFrame& out);
    bool send_training(Instant now, TxFrame& out);
    bool send_sequence(Instant now, TxFrame& out);
    bool send_replay(Instant now, TxFrame& out);
    bool send_init(TxFrame& out);
    bool send_llcrd(Instant now, TxFrame& out);
    bool send_message(Instant now, TxFrame& out);
    bool send_idle(TxFrame& out);
    void end_sequence(Instant now, TxFrame& out);
    void write(FlitData flit, TxFrame& out) const;
    void after_flit(Instant now);
    bool message_may_leave() const;
    bool replay_pauses() const;
    void retransmits(Instant now);
    void mind_pause(Instant now);
    bool no_new_flit() const;

    Config config_;
    LocalRetry local_;
    RemoteRetry remote_;
    Sender sender_;
    Receiver receiver_;
    Training training_;
    Backoff backoff_;
    FlitTimer timeout_;  // of LRSM
    FlitTimer probe_;
    FlitTimer pause_;                             // of a replay, if this end backs off
    std::size_t burst_max_ = Backoff::unlimited;  // flits of a replay before a pause

    bool down_ = false;
    bool aborted_ = false;         // down by a decision of this end
    bool tells_down_ = false;      // and the peer must hear of it
    bool ready_ = false;           // the peer's INIT.Param has arrived
    bool init_sent_ = false;       // or stored, at least
    bool idle_due_ = false;        // a RETRY.Idle must leave
    bool frame_due_ = false;       // a single RETRY.Frame, the answer to a probe
    std::uint32_t frames_in_ = 0;  // consecutive RETRY.Frames received
    Sequence sequence_ = Sequence::none;
    std::uint32_t frames_left_ = 0;

    LinkDeliveries deliveries_;
    Stats stats_;
};

static_assert(LinkEngine<Link>);

}  // namespace wireproof::cxl
