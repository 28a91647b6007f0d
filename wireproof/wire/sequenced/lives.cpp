#include "wireproof/wire/sequenced/lives.hpp"

namespace wireproof {

Lives::Lives(std::uint64_t seed) : random_(seed) {
    own_ = draw();
}

std::uint32_t Lives::draw() {
    std::uint32_t epoch = 0;
    while (epoch == 0 || epoch == own_) epoch = static_cast<std::uint32_t>(random_.next() >> 32);
    return epoch;
}

Lives::Judgement Lives::judge(std::uint32_t from, std::uint32_t to) {
    const bool to_us = to == own_;
    if (from == peer_) {
        if (!to_us && to != 0) {
            // The peer may take this end for a former life and wait forever, because it only gets
            // answers. So a sign must tell it the epochs.
            sign_due_ = true;
            return Judgement::former;
        }
        proven_ = proven_ || to_us;
        return Judgement::current;
    }
    if (peer_ == 0 && (to_us || to == 0)) {
        meet(from);
        proven_ = to_us;
        return Judgement::first;
    }
    if (challenge_ != 0 && to == challenge_) {
        own_ = challenge_;
        meet(from);
        proven_ = true;
        return Judgement::new_life;
    }
    // Two ends may both have first met a life that ended long ago. Then neither end speaks to a
    // living one. So as long as the peer is not proven, every stranger is challenged. Later this
    // would let late datagrams break the link.
    if (!to_us && to != 0 && proven_) return Judgement::former;
    // Without a peer, the epoch of this end is as new as any other, so it is the challenge. The
    // other end could meanwhile take a newly drawn challenge for the epoch of this end, although
    // the first contact has made it void.
    if (challenge_ == 0) challenge_ = peer_ == 0 ? own_ : draw();
    // A stranger that knows the epoch of this end is nearer to a proof.
    if (stranger_ == 0 || to_us || !stranger_knows_us_) {
        stranger_ = from;
        stranger_knows_us_ = to_us;
    }
    return Judgement::stranger;
}

void Lives::start_again() {
    own_ = draw();
    peer_ = challenge_ = stranger_ = 0;
    proven_ = stranger_knows_us_ = sign_due_ = false;
}

void Lives::meet(std::uint32_t peer) {
    peer_ = peer;
    challenge_ = stranger_ = 0;
    sign_due_ = true;
}

std::optional<Lives::Epochs> Lives::challenge() const {
    if (stranger_ == 0) return std::nullopt;
    return Epochs{challenge_, stranger_};
}

}  // namespace wireproof
