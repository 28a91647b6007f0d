#include "wireproof/proto/cxl/training.hpp"

namespace wireproof::cxl {

Training::Training(const Config& config)
    : retrain_time_(config.retrain_time),
      train_every_(config.train_every),
      numbers_(config.training_numbers),
      repeat_(config) {}

void Training::begin(Instant now, bool fresh) {
    running_ = owes_ = true;
    fresh_ = fresh;
    lost_ = false;
    heard_ = false;
    if (fresh) peers_.reset();
    own_ = static_cast<std::uint8_t>((own_ + 1U) % numbers_);
    repeat_.stop();
    silent_until_ = fresh || retrain_time_ == Duration() ? never : now + retrain_time_;
}

bool Training::restarts(const TrainingSet& set) const {
    if (!set.fresh || (running_ && fresh_)) return false;
    return peers_ != set.own || (running_ && set.heard && set.peers == own_);
}

Training::Event Training::on_set(Instant now, const TrainingSet& set) {
    Event event = Event::nothing;
    if (!running_ && peers_ == set.own) {
        // The peer has not heard the last set of this end.
        if (!set.done) owes_ = true;
        return event;
    }
    if (!running_) {
        begin(now, false);
        event = Event::began;
    }
    const bool answers = set.heard && set.peers == own_;
    peers_ = set.own;
    heard_ = true;
    owes_ = owes_ || !set.done;
    // The peer has state and this end has none: the peer notices, and begins again.
    if (!answers || set.fresh != fresh_) return event;
    running_ = false;
    owes_ = true;
    repeat_.stop();
    silent_until_ = never;
    return Event::ended;
}

TrainingSet Training::on_set_sent(Instant now) {
    owes_ = false;
    if (running_) repeat_.start(now, train_every_);
    return {.fresh = fresh_,
            .heard = heard_,
            .done = !running_,
            .own = own_,
            .peers = heard_ ? *peers_ : std::uint8_t{0}};
}

void Training::on_deadline(Instant now) {
    if (silent_until_ <= now) silent_until_ = never;
    if (repeat_.on_deadline(now)) owes_ = true;
}

void Training::fingerprint_without_numbers(Instant now, Fingerprint& sink) const {
    sink.add(running_);
    sink.add(fresh_);
    sink.add(owes_);
    sink.add(lost_ && running_ && fresh_);  // only the end of the first training asks for it
    sink.add(heard_);
    sink.add(peers_.has_value());
    sink.add_deadline(silent_until_, now);
    repeat_.fingerprint(now, sink);
}

}  // namespace wireproof::cxl
