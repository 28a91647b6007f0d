// How two ends agree on a session, and how a restarted end is told from a late HELLO of a dead one.
// A session is named by a cookie mixed from both ends' nonces; a nonce is new in every life and is
// believed only once its owner has echoed a nonce that we drew after meeting it.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/random.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/config.hpp"
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

    /// Whether this is the cookie of the session being formed: who knows it has echoed our nonce.
    /// It repairs the loss of the last HELLO, which nobody would repeat.
    bool completes(std::uint64_t cookie);

    /// The session is over; a nonce of the next attempt will be fresh.
    void end();

    /// Whether another session can follow: not if the launcher gave the only one.
    bool can_meet() const { return !launched_; }

    struct Hello {
        HelloBody body;
        bool wants_answer = false;
    };
    bool answer_due() const { return answer_ != Answer::none; }
    /// The answer that is due, or else an attempt of our own.
    Hello take_hello();

    void fingerprint(Fingerprint& sink) const;

private:
    enum class Answer : std::uint8_t { none, session, candidate };
    struct Nonces {
        std::uint64_t own = 0;
        std::uint64_t peer = 0;
    };

    std::uint64_t draw();
    std::uint64_t cookie_of(const Nonces& nonces) const;
    void establish(const Nonces& nonces);

    std::uint64_t job_;
    std::uint64_t terms_;
    Random random_;
    std::uint64_t cookie_ = 0;  // 0: no session
    Nonces session_;            // of the session
    Nonces candidate_;          // of the session being formed
    bool launched_ = false;     // the launcher gave the cookie: no HELLO is sent or heard
    Answer answer_ = Answer::none;
};

}  // namespace wireproof::am
