// Which life of the peer we are connected to, and as which life of our own: told from the two
// epochs in every datagram, so that nothing late from a former life is ever taken for news.
//
// An unknown epoch may be that of a peer that has just started, or of one that died long ago. No
// frame of such a stranger is taken. It is challenged: asked to repeat a new random epoch, drawn
// after the present peer was met. Only who lives now can do so. It then becomes the peer and the
// challenge becomes our epoch, for a new life of the peer is one of the link; whatever was ever
// sent to our former epoch is recognized as late by that.
//
//        we                                  the peer
//         │◄──────── from 7, to 0 ───────────┤ starts as 7
//         ├──────── from 92, to 7 ──────────►│ first contact: its peer is 92
//         │◄──────── from 7, to 92 ──────────┤
//   peer is 7, we are 92: new life
//
// Whatever was lost, repeated or delayed, the two ends agree once datagrams pass again both ways.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/random.hpp"

namespace wireproof {

/// A regular value.
class Lives {
public:
    /// The seed must be another at every start: two lives of one epoch cannot be told apart.
    explicit Lives(std::uint64_t seed);

    enum class Judgement : std::uint8_t {
        current,   // from the peer as we know it
        first,     // from the first peer heard, which is now the peer
        new_life,  // from a life proven newer, which is now the peer
        stranger,  // from another life, perhaps a newer one: challenged
        former,    // to a life of ours that has passed
    };
    Judgement judge(std::uint32_t from, std::uint32_t to);

    std::uint32_t own() const { return own_; }
    std::uint32_t peer() const { return peer_; }  // 0: none yet

    struct Epochs {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        friend bool operator==(Epochs, Epochs) = default;
    };
    Epochs epochs() const { return {own_, peer_}; }

    /// The epochs of a datagram without frames that must leave: a challenge, and apart from it a
    /// sign for the peer that is to learn at once as whom we know it and ourselves.
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
