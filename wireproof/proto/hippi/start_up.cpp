#include "wireproof/proto/hippi/start_up.hpp"

namespace wireproof::hippi {

StartUp::StartUp(const Config& config)
    : terms_(config.terms()),
      credits_(config.buffers),
      again_after_(config.start_again_after),
      random_(config.seed) {
    begin(State::starting);
}

void StartUp::begin(State state) {
    state_ = state;
    epoch_ = random_.next();
    due_ = true;
    deadline_ = never;
    init_answer_owed_ = reset_answer_owed_ = false;
    forget_peer();
}

void StartUp::forget_peer() {
    peer_seen_ = false;
    peer_epoch_ = 0;
    peer_credits_ = {};
    answered_by_.reset();
}

StartUp::Outcome StartUp::on_frame(Type type, const StartBody& body) {
    if (body.terms != terms_) return {RxVerdict::foreign, Effect::nothing};
    switch (type) {
        case Type::init: return on_init(body);
        case Type::init_ack: return on_init_ack(body);
        case Type::reset: return on_reset(body);
        default: return on_reset_ack(body);
    }
}

StartUp::Outcome StartUp::on_init(const StartBody& body) {
    if (state_ == State::resetting) return {RxVerdict::refused, Effect::nothing};
    if (state_ == State::running && body.epoch != peer_epoch_) {
        begin(State::resetting);
        return {RxVerdict::control, Effect::ended};
    }
    peer_seen_ = true;
    peer_epoch_ = body.epoch;
    init_answer_owed_ = true;
    if (state_ == State::running) return {};  // HIPPI-36
    peer_credits_ = body.credits;
    return run_if_both_seen();
}

StartUp::Outcome StartUp::on_init_ack(const StartBody& body) {
    if (body.echo != epoch_) return {RxVerdict::stale, Effect::nothing};
    if (state_ != State::starting) return {};
    answered_by_ = body.epoch;
    return run_if_both_seen();
}

// An answer counts only together with the INIT of the same life. An answer from an earlier life
// does not show what the peer knows now.
StartUp::Outcome StartUp::run_if_both_seen() {
    if (!peer_seen_ || answered_by_ != peer_epoch_) return {};
    state_ = State::running;
    due_ = false;
    deadline_ = never;
    return {RxVerdict::control, Effect::began};
}

// HIPPI-30: both sides begin a new life.
StartUp::Outcome StartUp::on_reset(const StartBody& body) {
    const bool repeated = peer_seen_ && peer_epoch_ == body.epoch;
    const bool ends = state_ == State::running && !repeated;
    if (ends) {
        begin(State::starting);
    } else if (state_ == State::starting && !repeated) {
        forget_peer();
        init_answer_owed_ = false;
        due_ = true;
    }
    reset_answer_owed_ = true;  // after begin(), which forgets the answers that were owed
    reset_epoch_ = body.epoch;
    return {RxVerdict::control, ends ? Effect::ended : Effect::nothing};
}

StartUp::Outcome StartUp::on_reset_ack(const StartBody& body) {
    if (body.echo != epoch_) return {RxVerdict::stale, Effect::nothing};
    if (state_ != State::resetting) return {};
    state_ = State::starting;
    due_ = true;
    return {};
}

StartUp::Departure StartUp::departure(Type type, std::uint64_t echo) const {
    return {type, {.epoch = epoch_, .echo = echo, .terms = terms_, .credits = credits_}};
}

// The answer to a RESET leaves first: if an INIT arrived before it, the peer would still be
// resetting.
std::optional<StartUp::Departure> StartUp::next_departure(Instant now) {
    if (reset_answer_owed_) {
        reset_answer_owed_ = false;
        return departure(Type::reset_ack, reset_epoch_);
    }
    if (init_answer_owed_) {
        init_answer_owed_ = false;
        return departure(Type::init_ack, peer_epoch_);
    }
    if (!due_) return std::nullopt;
    due_ = false;
    deadline_ = now + again_after_;
    return departure(state_ == State::resetting ? Type::reset : Type::init, 0);
}

void StartUp::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(state_);
    sink.add(epoch_);
    sink.add(due_);
    sink.add_deadline(deadline_, now);
    sink.add(peer_seen_);
    sink.add(peer_epoch_);
    for (const std::uint16_t credits : peer_credits_) sink.add(credits);
    sink.add(answered_by_.has_value());
    sink.add(answered_by_.value_or(0));
    sink.add(init_answer_owed_);
    sink.add(reset_answer_owed_);
    sink.add(reset_answer_owed_ ? reset_epoch_ : 0);
    for (const std::uint64_t word : random_.state()) sink.add(word);
}

}  // namespace wireproof::hippi
