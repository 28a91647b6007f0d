// How two ends agree on a session, and how they distinguish a restarted end from a late HELLO of a
// dead life. A cookie names the session; it is mixed from a nonce of each end. Each life of an end
// has a new nonce. An end trusts the nonce of a HELLO only after its sender has echoed a nonce of
// this end.
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
        foreign,      // of another job, or the echo is no nonce of this end
        mismatched,   // of this job, but with another configuration
        noted,        // an answer may be due
        established,  // a new session begins; it ends the old one
    };

    explicit Handshake(const Config& config);

    bool established() const { return cookie_ != 0; }
    std::uint64_t cookie() const { return cookie_; }

    Outcome on_hello(const HelloBody& hello, bool wants_answer);

    /// Whether this is the cookie of a session being formed. A peer that knows it has received our
    /// nonce. So a frame with it replaces a lost last HELLO, which neither end would repeat.
    bool completes(std::uint64_t cookie);

    /// The session, or the attempt to begin one, is over. The next attempt draws a new nonce. If
    /// the peer still answered, it is told at once how the session ended; else it is told when it
    /// uses the session again.
    void end(const SessionEnded& how);

    /// Whether another session can follow. None can if the launcher gave the only one.
    bool can_meet() const { return !launched_; }

    /// A frame arrived with the cookie of a session of this job that does not exist here. This node
    /// answers one per second, because the sender does not know that the session is over.
    void on_unknown_session(Instant now, std::uint64_t cookie);
    struct Disowned {
        std::uint64_t cookie = 0;
        std::uint64_t proof = 0;  // shows that the sender of the answer belongs to the job
        SessionEnded how;         // how it ended here; `restarted`: this node does not know it
    };
    /// Such an answer is due; take_disowned() returns its contents.
    bool disowns() const { return answer_ == Answer::unknown; }
    Disowned take_disowned();
    /// Whether an UNKNOWN is about the session of this end. Others have no meaning.
    bool is_disowned(std::uint64_t cookie, std::uint64_t proof) const;

    struct Hello {
        HelloBody body;
        bool wants_answer = false;
    };
    /// Some answer is due.
    bool answer_due() const { return answer_ != Answer::none; }
    /// The HELLO that is due; if none is, one that begins an attempt.
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
    Nonces session_;            // of cookie_
    // Sessions being formed, the latest first. There are two because a late HELLO of a dead life
    // may begin one beside the one with the peer's living life.
    std::array<Nonces, 2> candidates_;
    bool launched_ = false;  // the launcher gave the cookie: HELLOs are neither sent nor accepted
    Answer answer_ = Answer::none;
    std::uint64_t ended_ = 0;  // cookie of the last session that ended here
    SessionEnded ended_how_;
    std::uint64_t unknown_ = 0;  // cookie in the UNKNOWN that is due
    Instant unknown_again_;      // time of the next answer to an unknown cookie
};

}  // namespace wireproof::am
