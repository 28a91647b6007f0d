// The receiving half of a flit link (docs/rules/flit.md): implicit numbers, WITHDRAW, which Nak is
// scheduled, and the store of a selective receiver. The names in capitals are those of the rules.
//
//   invalid flit:  Nak scheduled ──► drop; a selective one becomes standard
//                  WITHDRAW      ──► Nak
//                  else          ──► WITHDRAW: the next valid flit says what the invalid one was
#pragma once

#include <array>
#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/proto/flit/config.hpp"
#include "wireproof/proto/flit/halves.hpp"
#include "wireproof/proto/flit/numbers.hpp"
#include "wireproof/proto/flit/stats.hpp"

namespace wireproof::flit {

enum class Nak : std::uint8_t { none, standard, selective };

class Receiver {
public:
    explicit Receiver(const Config& config);
    void reset();

    /// An invalid flit: it counts as one, and nothing in it is used (but see use_even).
    void on_invalid(Instant now, Stats& stats);
    /// A valid flit. `message` is nothing if its length contradicts the flit; such a flit uses up
    /// its number.
    RxVerdict on_flit(Instant now, const Header& header, std::optional<ConstBytes> message,
                      Stats& stats);
    /// The even half of a flit that is invalid as a whole, before on_invalid(). If the receiver
    /// would take the flit, it uses this half now, and only the other half of the replayed flit.
    void use_even(const Header& header, const EvenHalf& half, Stats& stats);
    /// Start-up: the peer's last number, from which both ends count.
    void meet(FlitNumber last);

    /// The messages that the caller has not drawn yet, oldest first.
    std::optional<ConstBytes> next_message();

    /// The Ack or Nak that a flit without explicit number carries.
    Command notice() const;
    std::uint32_t acknak() const { return Numbers::wire(numbers_.before(next_)); }  // TX_ACKNAK
    /// A Nak that has begun to leave is repeated before an explicit flit may leave.
    bool lets_explicit_leave() const { return nak_left_ == 0 || nak_left_ >= config_.nak_run; }
    /// A flit has left with this command, which is not an explicit number.
    void notice_left(Instant now, Command left, Stats& stats);

    /// On demand: a flit with the notice must leave even if there is no other reason for it.
    bool owes() const { return nak_ != Nak::none ? nak_left_ < config_.nak_run : ack_waits_; }
    void owe_ack() { ack_waits_ = true; }
    void on_deadline(Instant now);
    Instant next_deadline() const { return ack_deadline_; }

    std::uint32_t next_expected() const { return Numbers::wire(next_); }  // NEXT_EXP
    std::uint32_t implicit() const { return Numbers::wire(implicit_); }   // IMPL
    Nak nak() const { return nak_; }
    bool withdraws() const { return withdraw_; }
    std::size_t stored() const { return store_.size(); }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    bool duplicate() const;  // of the number IMPL
    bool ahead() const;      // bad_seq
    FlitNumber number_of(const Header& header, bool waited) const;
    bool takes(const Header& header) const;
    RxVerdict after_invalid(Instant now, const Header& header,
                            const std::optional<ConstBytes>& message, Stats& stats);
    RxVerdict on_nop(Instant now, const Header& header, Stats& stats);
    RxVerdict on_payload(Instant now, const Header& header,
                         const std::optional<ConstBytes>& message, Stats& stats);
    RxVerdict in_standard(Instant now, bool is_explicit, const std::optional<ConstBytes>& message,
                          Stats& stats);
    RxVerdict in_selective(Instant now, bool is_explicit, const std::optional<ConstBytes>& message,
                           Stats& stats);

    RxVerdict take(Instant now, const std::optional<ConstBytes>& message, Stats& stats);
    RxVerdict take_rest(const std::optional<ConstBytes>& message, Stats& stats);
    RxVerdict drop_duplicate(Stats& stats);
    void keep(const std::optional<ConstBytes>& message, Stats& stats);
    void schedule(Nak nak);
    void schedule_wanted();
    void convert(Stats& stats);
    void empty_store();
    void ask_again(Instant now);

    struct Stored {
        std::size_t length = 0;
        bool readable = false;
        std::array<std::byte, flit_max> bytes{};
    };

    /// The even half of the expected flit, if it was used.
    struct UsedHalf {
        bool used = false;
        bool ready = false;      // its message is whole, and the caller has not drawn it
        std::size_t length = 0;  // of the whole message
        std::array<std::byte, flit_max> bytes{};
    };

    Config config_;
    Numbers numbers_;
    FlitNumber next_;      // NEXT_EXP; TX_ACKNAK is always the number before it
    FlitNumber implicit_;  // IMPL
    FlitNumber to_store_;  // TO_STORE
    Nak nak_ = Nak::none;
    bool withdraw_ = false;
    Ring<Stored> store_;
    std::size_t ready_ = 0;  // stored messages that may be delivered
    std::optional<ConstBytes> message_;
    UsedHalf half_;

    std::uint32_t nak_left_ = 0;  // flits with this Nak, at most nak_run
    // On demand.
    std::uint32_t owed_ = 0;  // payload flits taken and not acknowledged
    bool ack_waits_ = false;
    Instant ack_deadline_ = never;
    Instant ask_again_at_;  // a Nak that left before is not repeated sooner
};

}  // namespace wireproof::flit
