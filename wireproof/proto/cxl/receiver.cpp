#include "wireproof/proto/cxl/receiver.hpp"

#include <algorithm>

namespace wireproof::cxl {
namespace {

constexpr std::uint32_t wrap_before_init = 9;

}  // namespace

Receiver::Receiver(const Config& config)
    : config_(config), circle_(wrap_before_init + 1), flush_(config) {
    reset();
}

void Receiver::reset() {
    circle_ = Circle(wrap_before_init + 1);
    eseq_ = FlitNumber(config_.first_number);
    num_ack_ = news_owed_ = 0;
    threshold_ = config_.ack_threshold;
    flush_.stop();
    flush_due_ = false;
}

// CXL-3. The peer keeps two entries of its buffer for acknowledgements (CXL-5). If it fills the
// others with LLCRDs, this end must acknowledge them without the timer.
void Receiver::on_wrap(std::uint32_t wrap) {
    circle_ = Circle(wrap + 1);
    threshold_ = std::clamp(wrap - 1, 1U, config_.ack_threshold);
}

void Receiver::on_flit(Instant now, bool news) {
    eseq_ = circle_.advance(eseq_, 1);
    ++num_ack_;
    if (!news) return;  // CXL-22
    news_owed_ = num_ack_;
    // CXL-7
    if (config_.mends.flushes_acks && !flush_due_ && !flush_.running()) {
        flush_.start(now, config_.ack_flush);
    }
}

// CXL-17. CXL-22: if one LLCRD alone forced another one, two ends would never stop.
std::uint32_t Receiver::forced_acks() const {
    const std::uint32_t forces = news_owed_ > 0 ? threshold_ : std::max(threshold_, 2U);
    return num_ack_ >= forces || flush_due_ ? std::min(num_ack_, acks_max) : 0;
}

void Receiver::on_acks_sent(Instant now, std::uint32_t count) {
    num_ack_ -= count;
    news_owed_ -= std::min(news_owed_, count);
    flush_due_ = false;
    flush_.stop();
    if (config_.mends.flushes_acks && news_owed_ > 0) flush_.start(now, config_.ack_flush);
}

void Receiver::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(circle_.modulus());
    sink.add(threshold_);  // follows from the modulus, if no reset forgets it
    sink.add(eseq_.value());
    sink.add(num_ack_);
    sink.add(news_owed_);
    sink.add(flush_due_);
    flush_.fingerprint(now, sink);
}

}  // namespace wireproof::cxl
