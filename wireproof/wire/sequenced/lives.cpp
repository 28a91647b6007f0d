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
            // It may hold us for a former life and wait for good: frames to it are only answers.
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
    // Two ends that both first heard a life long past speak to none that lives, so as long as the
    // peer is not proven anybody is challenged. Later that would let late datagrams break the link.
    if (!to_us && to != 0 && proven_) return Judgement::former;
    // As long as there is no peer, our epoch is as new as any. A challenge that the first contact
    // made void could meanwhile be taken for it.
    if (challenge_ == 0) challenge_ = peer_ == 0 ? own_ : draw();
    // The stranger that knows us is nearer to a proof.
    if (stranger_ == 0 || to_us || !stranger_knows_us_) {
        stranger_ = from;
        stranger_knows_us_ = to_us;
    }
    return Judgement::stranger;
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
