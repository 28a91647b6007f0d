// The sending half of a link (docs/rules/ue.md): numbers, replay, timers, INIT and FLUSH. It
// handles eligible frames. Link decides when a frame may leave, and what a flush means for the
// other direction.
//
//                       echo of INIT                NACK, replay timer
//   LLR_OFF ──► INIT ───────────────► ADVANCE ◄──────────────────────► REPLAY
//                 ▲                      │         all frames resent      │
//                 └────────── FLUSH ◄────┴────────────────────────────────┘
//                                 count, age or PCS: all frames are lost
#pragma once

#include "wireproof/core/go_back_n.hpp"
#include "wireproof/core/message_queue.hpp"
#include "wireproof/proto/ue/receiver.hpp"

namespace wireproof::ue {

class Transmitter {
public:
    enum class State : std::uint8_t { llr_off, init, advance, replay, flush };
    /// What a control ordered set or a deadline did.
    enum class Outcome : std::uint8_t {
        done,
        ignored,       // not in this state
        out_of_range,  // its number or its data is wrong: nothing changed
        must_flush,    // the caller calls flush
    };

    explicit Transmitter(const Config& config);

    /// Discards all frames and goes to FLUSH. The numbers go on (LLR-18).
    void flush(Stats& stats);
    /// The init_data of the next episode of INIT.
    void set_init_data(std::uint16_t init_data) { init_data_ = init_data; }
    void begin_init() { state_ = State::init; }
    void switch_off() { state_ = State::llr_off; }

    bool runs() const { return state_ == State::advance || state_ == State::replay; }
    bool has_room() const { return !frames_.full(); }
    SubmitStatus submit(ConstBytes message);
    void poison_next() { poison_next_ = true; }

    Outcome on_ack(Instant now, std::uint32_t number, bool nack, Stats& stats);
    Outcome on_echo(const CtlOs& echo, Stats& stats);
    Outcome on_deadline(Instant now, Stats& stats);
    Instant next_deadline() const { return earliest(timer_deadline_, age_deadline()); }

    CtlOs take_init(Stats& stats);
    /// Writes a frame to resend, or else a new one that the window permits.
    bool transmit(Instant now, TxFrame& out, Stats& stats);

    /// True: no frame must be resent, and no new one can leave.
    bool quiet() const {
        if (state_ == State::replay) return retry_.replay_held();
        return state_ != State::advance || waiting() == 0 || window_full();
    }

    State state() const { return state_; }
    std::size_t outstanding() const { return retry_.outstanding(); }
    std::size_t waiting() const { return frames_.size() - outstanding(); }
    std::uint64_t outstanding_data() const { return outstanding_data_; }
    std::uint32_t replay_ct() const { return replay_ct_; }
    std::uint16_t init_data() const { return init_data_; }
    /// The number of the next new frame.
    std::uint32_t tx_seq() const { return retry_.next().value(); }
    std::uint32_t acked_seq() const { return retry_.acknowledged().value(); }
    const Unanswered& unanswered() const { return retry_.unanswered(); }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void begin_replay(Instant now, Stats& stats);
    bool count_replay();
    void settle(Instant now, Stats& stats);
    void start_timer(Instant now);
    bool window_full() const;
    bool ages() const { return config_.data_age_timer_max > Duration(); }
    Instant age_deadline() const;
    void write(std::size_t index, TxFrame& out) const;
    void count_sent(std::size_t index, Stats& stats) const;

    Config config_;
    struct FrameMark {
        bool poisoned = false;
        Instant first_sent = {};  // set if sent
    };
    MessageQueue<FrameMark> frames_;  // those that are sent come before those that wait
    GoBackN<FrameTag> retry_;         // tx_seq, acked_seq
    State state_ = State::llr_off;
    std::uint64_t outstanding_data_ = 0;  // bytes of the frames that were sent
    std::uint16_t init_data_ = 0;
    bool poison_next_ = false;

    std::uint32_t replay_ct_ = 0;
    Instant timer_deadline_ = never;
};

}  // namespace wireproof::ue
