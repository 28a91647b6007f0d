// The sending half of a flit link (docs/rules/flit.md): numbers of payload flits, replay, the
// Nak-ignore window and the replay timer. Link decides which command a flit carries.
//
// All instants, except those with the name `now`, are on the clock of the engine's timers: it
// counts flits on a continuous line, and time on demand.
#pragma once

#include "wireproof/core/go_back_n.hpp"
#include "wireproof/core/message_queue.hpp"
#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/flit/config.hpp"
#include "wireproof/proto/flit/numbers.hpp"
#include "wireproof/proto/flit/stats.hpp"

namespace wireproof::flit {

enum class Replay : std::uint8_t { none, standard, selective };

/// The payload flit that comes next.
struct NextPayload {
    std::size_t index = 0;  // of its message
    FlitNumber number;
    bool resent = false;
    bool must_be_explicit = false;  // FLIT-23, FLIT-24
};

class Transmitter {
public:
    explicit Transmitter(const Config& config);
    /// Drops all messages and restores the reset values.
    void reset();

    bool has_room() const { return !messages_.full(); }
    void submit(ConstBytes message) { messages_.push(message); }

    /// Handles the Ack or Nak of a valid flit. False: its number is illegal (FLIT-16).
    [[nodiscard]] bool on_notice(Instant now, Instant tick, Command notice, std::uint32_t number,
                                 Stats& stats);
    /// The timers. On a continuous line, before each flit.
    void on_deadline(Instant now, Instant tick, Stats& stats);
    Instant next_deadline() const { return timers_.next(); }

    /// The physical layer retrains: no flit leaves for a time.
    void retrain(Instant now) { retrained_at_ = now + config_.retrain_time; }
    bool retraining() const { return retrained_at_ != never; }
    Instant retrained_at() const { return retrained_at_; }
    void on_retrained(Instant now) {
        if (retrained_at_ <= now) retrained_at_ = never;
    }

    std::optional<NextPayload> next_payload() const;
    ConstBytes message(const NextPayload& next) const { return messages_.message(next.index); }
    void payload_left(Instant now, Instant tick, const NextPayload& next, bool is_explicit,
                      std::size_t size, Stats& stats);
    /// An explicit NOP has left, with the number `last_sent`.
    void explicit_nop_left();

    /// Explicit flits are wanted: a replay is under way, or the peer sent a Nak.
    bool wants_explicit() const { return replay_ != Replay::none || nak_ignore_.has_value(); }
    bool owes_explicit() const { return owes_explicit_; }
    std::uint32_t last_sent() const { return Numbers::wire(newest()); }

    Replay replay() const { return replay_; }
    std::size_t outstanding() const { return retry_.outstanding(); }
    std::size_t waiting() const { return messages_.size() - outstanding(); }
    std::uint32_t next_number() const { return Numbers::wire(retry_.next()); }           // NEXT_TX
    std::uint32_t acknowledged() const { return Numbers::wire(retry_.acknowledged()); }  // ACKD
    std::uint32_t replay_num() const { return replay_num_; }  // REPLAY_NUM
    std::uint32_t nak_ignored() const {                       // NAK_IGNORE, 0: none
        return nak_ignore_ ? Numbers::wire(*nak_ignore_) : 0;
    }
    const Unanswered& unanswered() const { return retry_.unanswered(); }

    void fingerprint(Instant now, Instant tick, Fingerprint& sink) const;

private:
    enum class Timer : std::uint8_t { replay, nak_ignore };

    void on_nak(Instant now, Instant tick, Replay wanted, Stats& stats);
    void replay_for_nak(Instant now, Instant tick, Replay wanted, Stats& stats);
    void free_oldest(Instant now, Instant tick, std::size_t count);
    void schedule(Instant now, Instant tick, Replay type, Stats& stats);
    void end_replay();
    void restart_timer(Instant tick);
    void fingerprint_of_jumps(Fingerprint& sink) const;
    FlitNumber newest() const { return numbers_.before(retry_.next()); }

    Config config_;
    Numbers numbers_;
    MessageQueue<> messages_;  // those that are sent come before those that wait
    GoBackN<FlitTag> retry_;   // NEXT_TX, ACKD, TX_REPLAY
    FlitNumber last_payload_;  // the last payload flit that left
    FlitNumber counted_;       // where the peer's count is: that flit, or an explicit NOP after it
    std::uint32_t explicit_left_ = 0;  // payload flits that must be explicit after a jump

    Replay replay_ = Replay::none;
    bool started_ = false;  // a flit of the replay has left
    std::uint32_t replay_num_ = 0;
    std::optional<FlitNumber> nak_ignore_;
    bool owes_explicit_ = false;
    // On demand: a Nak that came during a replay. On a line the peer repeats it after the replay.
    Replay remembered_ = Replay::none;

    TimerTable<Timer, 2> timers_;
    Instant retrained_at_ = never;
};

}  // namespace wireproof::flit
