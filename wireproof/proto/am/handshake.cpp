#include "wireproof/proto/am/handshake.hpp"

#include <algorithm>

namespace wireproof::am {

Handshake::Handshake(const Config& config)
    : job_(config.job),
      terms_(config.terms()),
      random_(mix64(config.seed) ^ mix64(config.node * 0x10001ULL + config.peer)) {
    if (config.cookie) {
        cookie_ = *config.cookie;
        launched_ = true;
    }
}

std::uint64_t Handshake::draw() {
    std::uint64_t nonce = 0;
    while (nonce == 0) nonce = random_.next();
    return nonce;
}

std::uint64_t Handshake::cookie_of(const Nonces& nonces) const {
    const auto [low, high] = std::minmax(nonces.own, nonces.peer);
    const std::uint64_t cookie = mix64(mix64(mix64(job_) ^ low) ^ high);
    return cookie != 0 ? cookie : 1;
}

void Handshake::establish(const Nonces& nonces) {
    session_ = nonces;
    cookie_ = cookie_of(nonces);
    candidate_ = {};
}

Handshake::Outcome Handshake::on_hello(const HelloBody& hello, bool wants_answer) {
    if (launched_ || hello.job != job_ || hello.nonce == 0) return Outcome::foreign;
    if (hello.terms != terms_) return Outcome::mismatched;
    if (established() && hello.nonce == session_.peer) {
        if (hello.echo != 0 && hello.echo != session_.own) return Outcome::foreign;
        if (wants_answer) answer_ = Answer::session;
        return Outcome::noted;
    }
    const bool same_candidate = candidate_.own != 0 && candidate_.peer == hello.nonce;
    if (hello.echo != 0 && hello.echo == candidate_.own && (same_candidate || !established())) {
        establish({candidate_.own, hello.nonce});
        answer_ = wants_answer ? Answer::session : Answer::none;
        return Outcome::established;
    }
    if (established()) {
        // Another life knocks. A late HELLO of a dead one can do no more than this: it cannot echo
        // the fresh nonce.
        if (hello.echo != 0 && hello.echo != session_.own) return Outcome::foreign;
        if (!same_candidate) candidate_ = {draw(), hello.nonce};
    } else {
        if (hello.echo != 0) return Outcome::foreign;
        if (candidate_.own == 0) candidate_.own = draw();
        candidate_.peer = hello.nonce;
    }
    answer_ = Answer::candidate;
    return Outcome::noted;
}

bool Handshake::completes(std::uint64_t cookie) {
    if (candidate_.own == 0 || candidate_.peer == 0 || cookie != cookie_of(candidate_))
        return false;
    establish(candidate_);
    answer_ = Answer::none;
    return true;
}

void Handshake::end() {
    cookie_ = 0;
    session_ = {};
    candidate_ = {};
    answer_ = Answer::none;
}

Handshake::Hello Handshake::take_hello() {
    const bool of_session = answer_ == Answer::session;
    answer_ = Answer::none;
    if (of_session) return {{job_, session_.own, session_.peer, terms_}, false};
    if (candidate_.own == 0) candidate_.own = draw();
    return {{job_, candidate_.own, candidate_.peer, terms_}, true};
}

void Handshake::fingerprint(Fingerprint& sink) const {
    sink.add(cookie_);
    for (const Nonces& nonces : {session_, candidate_}) {
        sink.add(nonces.own);
        sink.add(nonces.peer);
    }
    sink.add(answer_);
    for (const std::uint64_t word : random_.state()) sink.add(word);
}

}  // namespace wireproof::am
