#include "wireproof/proto/cxl/sender.hpp"

#include <algorithm>

namespace wireproof::cxl {

Sender::Sender(const Config& config)
    : depth_(config.modulus),
      first_number_(config.first_number),
      keeps_an_entry_(config.mends.keeps_an_entry),
      circle_(config.modulus),
      waiting_(config.queue),
      flits_(config.modulus) {
    reset();
}

void Sender::reset() {
    waiting_.clear();
    oldest_ = wr_ptr_ = rd_ptr_ = burst_ = FlitNumber(first_number_);
    used_ = news_ = 0;
}

SubmitStatus Sender::submit(ConstBytes message) {
    if (message.size() > message_room) return SubmitStatus::too_long;
    if (waiting_.full()) return SubmitStatus::no_room;
    Message& place = waiting_.add();
    place.length = static_cast<std::uint8_t>(message.size());
    std::copy(message.begin(), message.end(), place.bytes.begin());
    return SubmitStatus::accepted;
}

// CXL-5: if all entries were used, Eseq = WrPtr would mean both "all" and "none". The last entry
// but one is for acknowledgements, or two ends with full buffers would wait for each other.
bool Sender::may_store(bool acknowledges) const {
    const std::uint32_t kept = keeps_an_entry_ ? (acknowledges ? 1 : 2) : 0;
    return num_free_buf() > kept;
}

FlitData Sender::store_message(bool acknowledges) {
    const Message& message = waiting_.front();
    const FlitBytes flit =
        message_flit(ConstBytes(message.bytes).first(message.length), acknowledges);
    waiting_.pop();
    return store(flit);
}

// CXL-3
FlitData Sender::store(const FlitBytes& flit) {
    WIREPROOF_CHECK(!replaying() && used_ < depth_);
    FlitBytes& place = flits_[wr_ptr_.value()];
    place = flit;
    wr_ptr_ = rd_ptr_ = circle_.advance(wr_ptr_, 1);
    ++used_;
    if (kind_of(place) != FlitKind::llcrd) ++news_;
    return place;
}

bool Sender::on_acks(std::uint32_t count) {
    // The peer has only what it did not ask for again.
    const std::uint32_t had = replaying() ? circle_.steps_after(rd_ptr_, oldest_) : used_;
    if (count > had || count > used_) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (kind_of(flits_[oldest_.value()]) != FlitKind::llcrd) --news_;
        oldest_ = circle_.advance(oldest_, 1);
    }
    used_ -= count;
    return true;
}

bool Sender::can_replay_from(std::uint32_t eseq) const {
    return circle_.holds(eseq) && circle_.steps_after(wr_ptr_, FlitNumber(eseq)) <= used_;
}

std::uint32_t Sender::burst() const {
    return std::min(circle_.steps_after(rd_ptr_, burst_), circle_.steps_after(rd_ptr_, oldest_));
}

FlitData Sender::resend() {
    const FlitBytes& flit = flits_[rd_ptr_.value()];
    rd_ptr_ = circle_.advance(rd_ptr_, 1);
    return flit;
}

void Sender::fingerprint(Fingerprint& sink) const {
    sink.add(wr_ptr_.value());
    sink.add(rd_ptr_.value());
    // These two follow from the others. A reset that forgot one of them would show.
    sink.add(oldest_.value());
    sink.add(news_);
    sink.add(used_);
    for (std::uint32_t i = 0; i < used_; ++i) {
        sink.add_bytes(flits_[circle_.advance(oldest_, i).value()]);
    }
    sink.add(waiting_.size());
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        sink.add_bytes(ConstBytes(waiting_[i].bytes).first(waiting_[i].length));
    }
}

}  // namespace wireproof::cxl
