// What a link sends, and in which order.
#include <algorithm>

#include "wireproof/proto/cxl/link.hpp"

namespace wireproof::cxl {

// CXL-17
bool Link::poll_transmit(Instant now, TxFrame& out) {
    if (down_) return send_down(out);
    if (training_.running() || training_.owes()) return send_training(now, out);
    bool sent = send_sequence(now, out) || send_replay(now, out);
    if (!sent && !sender_.replaying()) {
        sent = send_init(out) || send_llcrd(now, out) || send_message(now, out);
    }
    sent = sent || send_idle(out);
    if (!sent) return false;
    receiver_.count_flit();
    if (timeout_.count()) on_timeout(now);
    probe_.stop();
    after_flit(now);
    return true;
}

bool Link::quiet() const {
    if (down_) return !tells_down_;
    if (training_.running() || training_.owes()) {
        return training_.silent() || !(training_.owes() || config_.continuous);
    }
    return !config_.continuous && sequence_ == Sequence::none && !remote_.must_answer() &&
           !local_.must_request() && !idle_due_ && !frame_due_ &&
           (sender_.replaying() ? replay_pauses() : no_new_flit());
}

bool Link::no_new_flit() const {
    return (init_sent_ || !sender_.may_store(false)) &&
           (receiver_.forced_acks() == 0 || !sender_.may_store(true)) && !message_may_leave();
}

// CXL-10
bool Link::send_down(TxFrame& out) {
    if (!tells_down_) return false;
    tells_down_ = false;
    TrainingSet{.down = true}.encode(out.add_header<TrainingSet::size>());
    ++stats_.upkeep;
    return true;
}

bool Link::send_training(Instant now, TxFrame& out) {
    if (training_.silent() || !(training_.owes() || config_.continuous)) return false;
    training_.on_set_sent(now).encode(out.add_header<TrainingSet::size>());
    ++stats_.upkeep;
    ++stats_.trainings;
    return true;
}

// A sequence that has begun is finished first, because nothing may come between its flits. A
// RETRY.Ack goes before a RETRY.Req.
bool Link::send_sequence(Instant now, TxFrame& out) {
    if (sequence_ == Sequence::none) {
        if (remote_.must_answer()) {
            sequence_ = Sequence::ack;
        } else if (local_.must_request()) {
            sequence_ = Sequence::request;
        } else {
            return false;
        }
        frames_left_ = config_.frames;
    }
    if (frames_left_ > 0) {
        --frames_left_;
        ++stats_.frames;
        write(frame_flit(), out);
    } else {
        end_sequence(now, out);
    }
    return true;
}

void Link::end_sequence(Instant now, TxFrame& out) {
    if (sequence_ == Sequence::request) {
        local_.on_request_sent();
        // One more, because the RETRY.Req itself counts as a flit that has left.
        timeout_.start(now, config_.timeout + 1,
                       backoff_.wait(config_.flit_time * config_.timeout));
        const RetryRequest request{receiver_.eseq(), local_.num_retry(), local_.num_phy_reinit()};
        write(request.encode(), out);
        ++stats_.naks;
    } else {
        const bool empty = remote_.eseq() == sender_.wr_ptr();
        const RetryAck ack{.empty = empty,
                           .num_retry = remote_.num_retry(),
                           .wr_ptr = sender_.wr_ptr(),
                           .eseq = remote_.eseq(),
                           .num_free_buf = sender_.num_free_buf()};
        write(ack.encode(), out);
        sender_.replay_from(remote_.eseq());
        burst_max_ = backoff_.window();
        pause_.stop();
        remote_.on_ack_sent();
        ++stats_.retry_acks;
        if (!empty) ++stats_.replays;
    }
    sequence_ = Sequence::none;
}

// A path that loses each large burst of datagrams gets smaller ones. No new flit may leave in a
// replay, also none with acknowledgements. So a replay only pauses, and does not wait for the peer,
// which may wait likewise. After each pause the burst doubles: if it is lost, the peer asks again.
bool Link::replay_pauses() const {
    return !config_.continuous && sender_.replaying() &&
           sender_.burst() >= std::max(burst_max_, backoff_.window());
}

bool Link::send_replay(Instant now, TxFrame& out) {
    if (!sender_.replaying() || replay_pauses()) return false;
    if (sender_.at_oldest() && sender_.news_outstanding() > 0) {  // CXL-22
        retransmits(now);
        backoff_.oldest_left(flit_size);
    }
    write(sender_.resend(), out);
    out.mark_resent();
    mind_pause(now);
    ++stats_.numbered;
    ++stats_.resent;
    return true;
}

// CXL-19: a RETRY.Idle first, and then INIT.Param once.
bool Link::send_init(TxFrame& out) {
    if (init_sent_ || idle_due_ || !sender_.may_store(false)) return false;
    init_sent_ = true;
    write(sender_.store(init_flit(config_.modulus - 1)), out);
    ++stats_.numbered;
    ++stats_.upkeep;
    return true;
}

// CXL-5, CXL-7, CXL-18
bool Link::send_llcrd(Instant now, TxFrame& out) {
    const std::uint32_t acks = receiver_.forced_acks();
    if (acks == 0 || !init_sent_ || !sender_.may_store(true)) return false;
    write(sender_.store(llcrd_flit(acks)), out);
    receiver_.on_acks_sent(now, acks);
    ++stats_.numbered;
    ++stats_.acks;
    return true;
}

bool Link::message_may_leave() const {
    return ready_ && init_sent_ && sender_.has_message() &&
           sender_.news_outstanding() < backoff_.window() && sender_.may_store(receiver_.has_ak());
}

bool Link::send_message(Instant now, TxFrame& out) {
    if (!message_may_leave()) return false;
    const bool acknowledges = receiver_.has_ak();
    write(sender_.store_message(acknowledges), out);
    if (acknowledges) receiver_.on_acks_sent(now, acks_of_ak);  // CXL-18
    ++stats_.numbered;
    return true;
}

bool Link::send_idle(TxFrame& out) {
    if (!idle_due_ && frame_due_) {
        frame_due_ = false;
        ++stats_.frames;
        ++stats_.upkeep;
        write(frame_flit(), out);
        return true;
    }
    if (!idle_due_ && !config_.continuous) return false;
    idle_due_ = false;
    ++stats_.idles;
    ++stats_.upkeep;
    if (sender_.outstanding() > 0) backoff_.oldest_left(flit_size);
    write(idle_flit(), out);
    return true;
}

/// CXL-21: each flit that leaves shows the peer whether one before it was lost, so the wait for a
/// probe begins again.
void Link::after_flit(Instant now) {
    if (config_.continuous || config_.probe_after == 0) return;
    if (sender_.news_outstanding() == 0 || probe_.running()) return;
    probe_.start(now, config_.probe_after, backoff_.wait(config_.flit_time * config_.probe_after));
}

void Link::write(FlitData flit, TxFrame& out) const {
    write_flit(flit, out.wants_check(), out.add_header<flit_size>());
}

}  // namespace wireproof::cxl
