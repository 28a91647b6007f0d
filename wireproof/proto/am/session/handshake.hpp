// How two ends agree on a session, and how a restarted end is told from a late HELLO of a dead one.
// A session is named by a cookie mixed from both ends' nonces; a nonce is new in every life and is
// believed only once its owner has echoed a nonce that we drew after meeting it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "wireproof/base/instant.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

class Handshake {
public:
    enum class Outcome : std::uint8_t {
        foreign,      // of another job, or an echo of a nonce that is not ours
        mismatched,   // of our job, but configured otherwise
        noted,        // an answer may be due
        established,  // a new session begins, and with it ends the old one
    };

    explicit Handshake(const Config& config);

    bool established() const { return cookie_ != 0; }
    std::uint64_t cookie() const { return cookie_; }

    Outcome on_hello(const HelloBody& hello, bool wants_answer);

    /// Whether this is the cookie of the session being formed: a peer that knows it has echoed our
    /// nonce. It repairs the loss of the last HELLO, which neither end would repeat.
    bool completes(std::uint64_t cookie);

    /// The session, or the attempt at one, is over; a nonce of the next attempt will be fresh. A
    /// peer that answered is told how it ended, and so is one that asks for this session later.
    void end(const SessionEnded& how);

    /// Whether another session can follow: not if the launcher gave the only one.
    bool can_meet() const { return !launched_; }

    /// A frame arrived that names a session of our job which does not exist here. One in a second
    /// is answered: its sender does not know that this node began anew.
    void on_unknown_session(Instant now, std::uint64_t cookie);
    struct Disowned {
        std::uint64_t cookie = 0;
        std::uint64_t proof = 0;  // shows that the sender of the answer is of the job
        SessionEnded how;         // as it ended here; `restarted`: nobody here knows of it
    };
    /// Such an answer is due; take_disowned() is what it says.
    bool disowns() const { return answer_ == Answer::unknown; }
    Disowned take_disowned();
    /// Whether the peer says that of our own session. Of any other it means nothing.
    bool is_disowned(std::uint64_t cookie, std::uint64_t proof) const;

    struct Hello {
        HelloBody body;
        bool wants_answer = false;
    };
    /// Some answer is due.
    bool answer_due() const { return answer_ != Answer::none; }
    /// The HELLO that is due, or else an attempt of our own.
    Hello take_hello();

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    enum class Answer : std::uint8_t { none, session, candidate, unknown };
    struct Nonces {
        std::uint64_t own = 0;
        std::uint64_t peer = 0;
    };
    static constexpr Duration unknown_apart = Duration::milliseconds(1'000);

    std::uint64_t draw();
    std::uint64_t cookie_of(const Nonces& nonces) const;
    void establish(const Nonces& nonces);
    Nonces* candidate_of(std::uint64_t peer);
    void begin_candidate(const Nonces& nonces);
    std::uint64_t proof_of(std::uint64_t cookie) const;

    std::uint64_t job_;
    std::uint64_t terms_;
    Random random_;
    std::uint64_t cookie_ = 0;  // 0: no session
    Nonces session_;            // of the session
    // Of sessions being formed, the last first: a late HELLO of a dead life may begin one beside
    // the one that the peer takes part in.
    std::array<Nonces, 2> candidates_;
    bool launched_ = false;  // the launcher gave the cookie: no HELLO is sent or heard
    Answer answer_ = Answer::none;
    std::uint64_t ended_ = 0;  // cookie of the last session that this end gave up
    SessionEnded ended_how_;
    std::uint64_t unknown_ = 0;  // cookie of the session that is not ours, while it is to be said
    Instant unknown_again_;      // from then on another may be answered
};

}  // namespace wireproof::am
