// What a channel does when the first packet that its peer misses never arrives, however often it is
// sent again. The sender waits longer each time and sends fewer other packets with it, at last none
// and nothing new. In the end it reports that the path does not carry this packet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

/// Positions are those of the send window. A bad path may lose a packet several times in a row, so
/// the sender does not wait before the first few resends.
class ResendBackoff {
public:
    explicit ResendBackoff(const Config& config)
        : limit_(config.resend_limit),
          recovery_(config.recovery),
          first_wait_(config.keepalive_after),
          longest_wait_(config.keepalive_max),
          timeout_(config.peer_timeout) {}

    bool on() const { return limit_ > 0; }

    /// The position of the first packet that the peer misses.
    void on_missing(std::uint64_t position) {
        if (position == position_) return;
        forget();
        position_ = position;
    }
    /// No resend has failed.
    void forget() {
        position_ = none;
        resends_ = 0;
        bytes_ = 0;
        wait_ = lasted_ = {};
        last_ = next_ = {};
    }

    /// The packet may not leave again yet.
    bool holds_back(Instant now) const { return now < next_; }
    /// The time from which it may.
    Instant next() const { return next_; }
    /// How long the sender waits after each resend; 0 after the first few.
    Duration wait() const { return wait_; }
    /// How many packets may leave again with this resend, including this packet, if nothing has
    /// arrived since the last one, or nothing of all that left. In go-back-N the peer does not say
    /// what arrived inside a chunk.
    std::uint32_t most() const {
        if (recovery_ == Recovery::go_back_n) return resends_ < free_resends ? all : 1;
        return std::max(1U, 16U >> std::min(resends_, 4U));
    }
    static constexpr std::uint32_t all = ~std::uint32_t{0};

    /// The peer has said again that it misses the packet. The packet leaves again, unless lasts().
    void resends(Instant now) {
        // Time in which this end did not poll does not count: the packet could not arrive then.
        if (resends_ > 0) lasted_ = lasted_ + std::min(now - last_, longest_wait_ * 4);
        last_ = now;
        if (++resends_ < free_resends) return;
        wait_ = std::min(wait_ == Duration() ? first_wait_ : wait_ * 2, longest_wait_);
        next_ = now + wait_;
    }
    /// The packet has left, in a frame of this many bytes.
    void left(std::size_t bytes) { bytes_ = bytes; }

    /// For the whole peer timeout the peer has answered, and the packet has not arrived.
    bool lasts() const { return resends_ > limit_ && lasted_ >= timeout_; }
    std::uint32_t times() const { return resends_; }
    std::size_t bytes() const { return bytes_; }

    /// `missing` is the position of the first packet that the peer may miss now.
    void fingerprint(Instant now, std::uint64_t missing, Fingerprint& sink) const {
        if (!on()) return;
        const bool begun = resends_ > 0 && position_ == missing;
        const std::uint64_t enough = std::uint64_t{std::max(limit_, free_resends)} + 1;
        sink.add(begun ? std::min<std::uint64_t>(resends_, enough) : 0);
        if (!begun) return;
        sink.add(wait_);
        sink.add(std::max(next_ - now, Duration()));
        sink.add(std::min(lasted_, timeout_));
        sink.add(std::min(now - last_, longest_wait_ * 4));
    }

private:
    static constexpr std::uint32_t free_resends = 8;
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    std::uint32_t limit_;
    Recovery recovery_;
    Duration first_wait_;
    Duration longest_wait_;
    Duration timeout_;
    std::uint64_t position_ = none;
    std::uint32_t resends_ = 0;
    std::size_t bytes_ = 0;
    Duration wait_{};
    Duration lasted_{};  // time since the first resend in which this end polled
    Instant last_;
    Instant next_;
};

}  // namespace wireproof::am
