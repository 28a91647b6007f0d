// A life of an end is the time from one of its starts to the next. Each life has a random number,
// its epoch. Each datagram names the epoch of its sender, and the epoch of the receiver as far as
// the sender knows it. From these two, `Lives` decides from which life of the peer the datagram
// comes, and to which life of this end it was sent. So no late datagram of a former life passes for
// a new one.
//
// An unknown epoch may belong to a peer that has just started, or to one that ended long ago. This
// end takes no frame of such a stranger. It challenges the stranger: the stranger must repeat a new
// random epoch, which this end drew after it met its present peer. Only a peer that still runs can
// do so. The stranger then becomes the peer, and the challenge becomes the epoch of this end,
// because a new life of the peer is a new life of the link. Datagrams to the former epoch of this
// end are then recognized as late.
//
//        we                                  the peer
//         │◄──────── from 7, to 0 ───────────┤ starts as 7
//         ├──────── from 92, to 7 ──────────►│ first contact: its peer is 92
//         │◄──────── from 7, to 92 ──────────┤
//   peer is 7, we are 92: new life
//
// Whatever was lost, duplicated or delayed, the two ends agree once datagrams arrive in both
// directions again.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/random.hpp"

namespace wireproof {

/// A regular value.
class Lives {
public:
    /// The seed must differ at each start: two lives with the same epoch cannot be told apart.
    explicit Lives(std::uint64_t seed);

    enum class Judgement : std::uint8_t {
        current,   // from the peer that this end knows
        first,     // from the first peer, which this end now knows
        new_life,  // from a life proven newer, which is now the peer
        stranger,  // from another life, perhaps a newer one: challenged
        former,    // to a former life of this end
    };
    Judgement judge(std::uint32_t from, std::uint32_t to);

    /// Forgets the peer and draws a new epoch, as if this end had started again. Datagrams to the
    /// former epoch change nothing from now on; the peer meets a new life.
    void start_again();

    std::uint32_t own() const { return own_; }
    std::uint32_t peer() const { return peer_; }  // 0: none yet

    struct Epochs {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        friend bool operator==(Epochs, Epochs) = default;
    };
    Epochs epochs() const { return {own_, peer_}; }

    /// The epochs of a challenge that must leave in a datagram without frames. If sign_due(), such
    /// a datagram must also leave to the peer: it tells the peer at once the epochs of both ends.
    std::optional<Epochs> challenge() const;
    bool sign_due() const { return sign_due_; }
    void challenge_left() { stranger_ = 0; }
    void sign_left() { sign_due_ = false; }

private:
    std::uint32_t draw();
    void meet(std::uint32_t peer);

    Random random_;
    std::uint32_t own_ = 0;
    std::uint32_t peer_ = 0;
    bool proven_ = false;          // the peer has repeated our epoch: it is no former life
    std::uint32_t challenge_ = 0;  // drawn since the peer was met; 0: none
    std::uint32_t stranger_ = 0;   // to be challenged at the next flush
    bool stranger_knows_us_ = false;
    bool sign_due_ = false;
};

}  // namespace wireproof
