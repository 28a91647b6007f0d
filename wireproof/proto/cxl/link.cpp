// A link receives; link_transmit.cpp has what it sends.
#include "wireproof/proto/cxl/link.hpp"

#include <algorithm>

namespace wireproof::cxl {

Link::Link(const Config& config)
    : config_(config),
      local_(config),
      sender_(config),
      receiver_(config),
      training_(config),
      backoff_(config.backs_off),
      timeout_(config),
      probe_(config),
      pause_(config) {}

Link::State Link::state() const {
    if (down_) return State::down;
    if (training_.running()) return State::training;
    return ready_ ? State::up : State::initialising;
}

SubmitStatus Link::submit(ConstBytes message) {
    if (message.size() > message_room) return SubmitStatus::too_long;
    if (!ready_) return SubmitStatus::no_room;
    return sender_.submit(message);
}

RxVerdict Link::on_frame(Instant now, const RxFrame& frame) {
    if (down_) return stats_.count(on_frame_when_down(frame));
    if (frame.integrity != Integrity::damaged) {
        if (const auto set = TrainingSet::decode(frame.bytes)) {
            return stats_.count(on_training_set(now, *set));
        }
    }
    if (training_.running()) {
        training_.on_lost_frame();
        return stats_.count(RxVerdict::refused);
    }
    const auto flit = read_flit(frame);
    return stats_.count(flit ? on_flit(now, *flit) : on_damaged(now));
}

// CXL-10: the peer may have missed that this end gave the link up. A frame that cannot be read may
// be the same word of a peer that did so, too, and is not answered.
RxVerdict Link::on_frame_when_down(const RxFrame& frame) {
    if (!aborted_ || frame.integrity == Integrity::damaged) return RxVerdict::refused;
    const auto set = TrainingSet::decode(frame.bytes);
    if (set ? !set->down : read_flit(frame).has_value()) tells_down_ = true;
    return RxVerdict::refused;
}

// CXL-20
RxVerdict Link::on_training_set(Instant now, const TrainingSet& set) {
    if (set.down) {  // CXL-10
        if (training_.running() && training_.fresh()) return RxVerdict::refused;
        ++stats_.aborts_heard;
        go_down();
        down_ = true;
        return RxVerdict::control;
    }
    if (training_.restarts(set)) {
        go_down();
        start_up(now);
    }
    switch (training_.on_set(now, set)) {
        case Training::Event::nothing: break;
        case Training::Event::began:
            ++stats_.resets;
            clear_retry();
            break;
        case Training::Event::ended:
            // CXL-12, CXL-23: what was in flight is lost, so this end asks for it at once.
            if (!training_.fresh()) {
                local_.on_trained();
            } else if (training_.lost()) {
                local_.on_error();
            }
            idle_due_ = training_.fresh();
            break;
    }
    return RxVerdict::control;
}

// CXL-24: whatever flit it was, because it may have been a retryable one.
RxVerdict Link::on_damaged(Instant now) {
    ++stats_.bad_flits;
    frames_in_ = 0;
    local_.on_error();
    after_lrsm(now);
    return RxVerdict::corrupt;
}

RxVerdict Link::on_flit(Instant now, FlitData flit) {
    const FlitKind kind = kind_of(flit);
    const std::uint32_t frames = frames_in_;
    frames_in_ = kind == FlitKind::frame ? std::min(frames + 1, config_.frames_needed) : 0;
    if (retryable(kind)) return on_retryable(now, kind, flit);
    switch (kind) {
        case FlitKind::idle: return on_idle();
        case FlitKind::frame: return RxVerdict::control;
        case FlitKind::request:
        case FlitKind::ack:
            if (frames < config_.frames_needed) {  // CXL-2, CXL-9
                ++stats_.unframed;
                return RxVerdict::refused;
            }
            return kind == FlitKind::request ? on_request(RetryRequest::decode(flit))
                                             : on_ack(now, RetryAck::decode(flit));
        default: return RxVerdict::malformed;
    }
}

RxVerdict Link::on_retryable(Instant now, FlitKind kind, FlitData flit) {
    if (!local_.normal()) return RxVerdict::out_of_sequence;  // it comes again, with its acks
    local_.on_good_flit();
    const RxVerdict verdict = kind == FlitKind::init ? on_init(flit) : RxVerdict::control;
    receiver_.on_flit(now, kind != FlitKind::llcrd);
    free_buffers(now, acks_in(flit));
    if (kind != FlitKind::message) return verdict;
    if (!ready_) return RxVerdict::refused;
    const auto message = message_in(flit);
    if (!message) return RxVerdict::malformed;
    deliveries_.message(*message);
    return RxVerdict::accepted;
}

// CXL-19
RxVerdict Link::on_init(FlitData flit) {
    constexpr std::uint32_t wrap_min = 3;
    const std::uint32_t wrap = wrap_in(flit);
    if (ready_ || wrap < wrap_min || receiver_.eseq() > wrap) return RxVerdict::malformed;
    receiver_.on_wrap(wrap);
    ready_ = true;
    deliveries_.up();
    return RxVerdict::control;
}

void Link::free_buffers(Instant now, std::uint32_t acks) {
    if (acks == 0) return;
    if (!sender_.on_acks(acks)) {
        ++stats_.protocol_errors;
        return;
    }
    backoff_.answered(acks);
    mind_pause(now);
    probe_.stop();
    after_flit(now);
}

// CXL-4: in every state of LRSM.
RxVerdict Link::on_request(const RetryRequest& request) {
    if (!sender_.can_replay_from(request.eseq)) {
        ++stats_.protocol_errors;
        return RxVerdict::stale;
    }
    // From now on the peer may acknowledge only what it did not ask for again.
    sender_.replay_from(request.eseq);
    remote_.on_request(request);
    return RxVerdict::control;
}

RxVerdict Link::on_ack(Instant now, const RetryAck& ack) {
    switch (local_.on_ack(ack.num_retry, ack.empty)) {
        case LocalRetry::Answer::unexpected: ++stats_.protocol_errors; return RxVerdict::stale;
        case LocalRetry::Answer::stale: ++stats_.stale_acks; return RxVerdict::stale;
        case LocalRetry::Answer::taken: break;
    }
    timeout_.stop();
    backoff_.answered(1);
    after_lrsm(now);
    return RxVerdict::control;
}

// CXL-21. A peer that probes lacks an acknowledgement. If this end sent it in an LLCRD that was
// lost, any later flit shows the loss. The answer is a RETRY.Frame, because an answer to a
// RETRY.Idle by a RETRY.Idle would be answered itself. An end that waits for an acknowledgement
// probes anyway.
RxVerdict Link::on_idle() {
    if (!config_.continuous && sender_.outstanding() > 0 && sender_.news_outstanding() == 0) {
        frame_due_ = true;
    }
    return RxVerdict::control;
}

/// LRSM may have decided that the physical layer must train, or that the link is dead.
void Link::after_lrsm(Instant now) {
    if (local_.state() == LocalRetry::State::phy_reinit) {
        ++stats_.phy_reinits;
        retrain(now);
    } else if (local_.state() == LocalRetry::State::abort) {
        ++stats_.aborts;
        go_down();  // CXL-10
        down_ = aborted_ = tells_down_ = true;
    }
}

// What is sent at once becomes less.
void Link::retransmits(Instant now) {
    backoff_.retransmits(now);
    mind_pause(now);
}

void Link::mind_pause(Instant now) {
    if (!replay_pauses()) return pause_.stop();
    if (pause_.running()) return;
    pause_.start(now, config_.probe_after);
}

void Link::on_timeout(Instant now) {
    ++stats_.timeouts;
    retransmits(now);
    local_.on_timeout();
    after_lrsm(now);
}

void Link::on_deadline(Instant now) {
    if (training_.deadline() <= now) {
        training_.on_deadline(now);
        if (training_.owes() && !training_.fresh()) retransmits(now);
    }
    receiver_.on_deadline(now);
    if (probe_.on_deadline(now)) {
        idle_due_ = true;
        retransmits(now);
    }
    if (pause_.on_deadline(now)) {
        sender_.begin_burst();
        burst_max_ *= 2;
    }
    if (timeout_.on_deadline(now)) on_timeout(now);
}

void Link::on_wire_event(Instant now, WireEvent event) {
    go_down();
    if (event == WireEvent::new_life) {
        start_up(now);
    } else {
        down_ = true;
    }
}

void Link::retrain(Instant now) {
    if (down_ || training_.running()) return;
    training_.begin(now, false);
    ++stats_.resets;
    clear_retry();
}

// The answer to the peer's request is forgotten, too: the peer asks again after the training.
void Link::clear_retry() {
    remote_.reset();
    sender_.stop_replay();
    sequence_ = Sequence::none;
    frames_left_ = frames_in_ = 0;
    idle_due_ = frame_due_ = false;
    timeout_.stop();
    probe_.stop();
    pause_.stop();
}

void Link::go_down() {
    deliveries_.down(ready_);
    ++stats_.resets;
    ready_ = init_sent_ = aborted_ = tells_down_ = false;
    clear_retry();
    local_.reset();
    sender_.reset();
    receiver_.reset();
    backoff_.reset();
}

void Link::start_up(Instant now) {
    down_ = false;
    training_.begin(now, true);
}

Instant Link::next_deadline() const {
    if (down_) return never;
    return earliest(training_.deadline(), receiver_.deadline(), probe_.deadline(),
                    timeout_.deadline(), pause_.deadline());
}

void Link::fingerprint_without_trainings(Instant now, Fingerprint& sink) const {
    local_.fingerprint(sink);
    remote_.fingerprint(sink);
    sender_.fingerprint(sink);
    receiver_.fingerprint(now, sink);
    // A new life begins the training anew.
    if (!down_) training_.fingerprint_without_numbers(now, sink);
    backoff_.fingerprint(sink);
    timeout_.fingerprint(now, sink);
    probe_.fingerprint(now, sink);
    pause_.fingerprint(now, sink);
    if (config_.backs_off) {
        sink.add(sender_.replaying() ? sender_.burst() : 0);
        sink.add(sender_.replaying() ? burst_max_ : 0);
    }
    for (const bool each :
         {down_, aborted_, tells_down_, ready_, init_sent_, idle_due_, frame_due_})
        sink.add(each);
    sink.add(frames_in_);
    sink.add(sequence_);
    sink.add(frames_left_);
    deliveries_.fingerprint(sink);
}

}  // namespace wireproof::cxl
