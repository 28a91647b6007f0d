#include "wireproof/proto/am/session/handshake.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::am {
namespace {

constexpr std::uint64_t job_bits = std::uint64_t{0xFFFF} << 48;  // of a cookie

}  // namespace

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

// The upper 16 bits are those of the job, so the cookie alone shows that a frame is of another job.
std::uint64_t Handshake::cookie_of(const Nonces& nonces) const {
    const auto [low, high] = std::minmax(nonces.own, nonces.peer);
    const std::uint64_t cookie = mix64(mix64(mix64(job_) ^ low) ^ high) & ~job_bits;
    return (cookie != 0 ? cookie : 1) | (mix64(job_) & job_bits);
}

void Handshake::establish(const Nonces& nonces) {
    session_ = nonces;
    cookie_ = cookie_of(nonces);
    candidates_ = {};
}

// The candidate with this nonce of the peer, if there is one.
Handshake::Nonces* Handshake::candidate_of(std::uint64_t peer) {
    for (Nonces& candidate : candidates_) {
        if (candidate.own != 0 && candidate.peer == peer) return &candidate;
    }
    return nullptr;
}

void Handshake::begin_candidate(const Nonces& nonces) {
    if (candidates_[0].peer != 0) candidates_[1] = candidates_[0];
    candidates_[0] = nonces;
}

Handshake::Outcome Handshake::on_hello(const HelloBody& hello, bool wants_answer) {
    if (launched_ || hello.job != job_ || hello.nonce == 0) return Outcome::foreign;
    if (hello.terms != terms_) return Outcome::mismatched;
    if (established() && hello.nonce == session_.peer) {
        if (hello.echo != 0 && hello.echo != session_.own) return Outcome::foreign;
        if (wants_answer) answer_ = Answer::session;
        return Outcome::noted;
    }
    Nonces* const candidate = candidate_of(hello.nonce);
    const bool echoes = candidate != nullptr && hello.echo == candidate->own;
    // Without a session: a peer that echoes the nonce of our HELLO has received this HELLO.
    if (hello.echo != 0 && (echoes || (!established() && hello.echo == candidates_[0].own))) {
        establish({hello.echo, hello.nonce});
        answer_ = wants_answer ? Answer::session : Answer::none;
        return Outcome::established;
    }
    if (hello.echo != 0 && hello.echo != session_.own) return Outcome::foreign;
    if (candidate != nullptr) {
        std::swap(candidates_[0], *candidate);  // the answer is for this one
    } else {
        // During a session, another life of the peer may have sent this HELLO. A late HELLO of a
        // dead life only begins a candidate, because the dead life cannot echo the new nonce.
        const std::uint64_t known = established() ? 0 : candidates_[0].own;
        begin_candidate({known != 0 ? known : draw(), hello.nonce});
    }
    answer_ = Answer::candidate;
    return Outcome::noted;
}

bool Handshake::completes(std::uint64_t cookie) {
    for (const Nonces& candidate : candidates_) {
        if (candidate.own == 0 || candidate.peer == 0 || cookie != cookie_of(candidate)) continue;
        establish(Nonces(candidate));
        answer_ = Answer::none;
        return true;
    }
    return false;
}

void Handshake::on_unknown_session(Instant now, std::uint64_t cookie) {
    const bool of_job = ((cookie ^ mix64(job_)) & job_bits) == 0;
    if (launched_ || !of_job || answer_due() || now < unknown_again_) return;
    answer_ = Answer::unknown;
    unknown_ = cookie;
    unknown_again_ = now + unknown_apart;
}

Handshake::Disowned Handshake::take_disowned() {
    answer_ = Answer::none;
    const bool known = unknown_ == ended_;
    return {unknown_, proof_of(unknown_),
            known ? ended_how_ : SessionEnded{.why = SessionEnded::Why::restarted}};
}

std::uint64_t Handshake::proof_of(std::uint64_t cookie) const {
    return mix64(mix64(job_) ^ mix64(cookie)) &
           0xFFFFFFFF;  // the offset field of the sp2 layout has 32 bits
}

bool Handshake::is_disowned(std::uint64_t cookie, std::uint64_t proof) const {
    return established() && !launched_ && cookie == cookie_ && proof == proof_of(cookie);
}

// Candidates beside the session stay: their nonces are new, and the peer may have begun one
// already.
void Handshake::end(const SessionEnded& how) {
    if (established()) {
        ended_ = cookie_;
        ended_how_ = how;
    } else {
        candidates_ = {};
    }
    cookie_ = 0;
    session_ = {};
    if (answer_ == Answer::candidate) return;
    answer_ = Answer::none;
    const bool tells = how.why == SessionEnded::Why::unanswered && !how.by_peer && !launched_;
    if (!tells) return;
    answer_ = Answer::unknown;
    unknown_ = ended_;
}

Handshake::Hello Handshake::take_hello() {
    const Answer answer = std::exchange(answer_, Answer::none);
    if (answer == Answer::session) return {{job_, session_.own, session_.peer, terms_}, false};
    Nonces& candidate = candidates_[0];
    if (candidate.own == 0) candidate.own = draw();
    // A HELLO that is no answer echoes no nonce: the peer whose nonce we know may be dead, and a
    // new life would not answer.
    const std::uint64_t echo = answer == Answer::candidate ? candidate.peer : 0;
    return {{job_, candidate.own, echo, terms_}, true};
}

void Handshake::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(cookie_);
    for (const Nonces& nonces : {session_, candidates_[0], candidates_[1]}) {
        sink.add(nonces.own);
        sink.add(nonces.peer);
    }
    sink.add(answer_);
    sink.add(disowns() ? unknown_ : 0);
    sink.add(ended_);
    ended_how_.fingerprint(sink);
    sink.add(std::max(unknown_again_ - now, Duration()));
    for (const std::uint64_t word : random_.state()) sink.add(word);
}

}  // namespace wireproof::am
