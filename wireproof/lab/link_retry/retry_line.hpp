// One direction of a link whose time is counted in bytes: a byte on the line is one picosecond of
// the engines' clock. Frames leave one at a time and arrive in order. No frame vanishes: a bad one
// arrives with a mark. Simpler than sim::Cable, because it must carry tens of millions of frames a
// second.
#pragma once

#include <array>
#include <vector>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/sim/compose.hpp"

namespace wireproof::lab {

/// The time that `bytes` bytes take on the line.
constexpr Duration line_time(std::uint64_t bytes) {
    return Duration(static_cast<std::int64_t>(bytes));
}

struct RetryLineTerms {
    std::size_t frame_max = 0;  // bytes that an engine may write
    Duration delay{};           // from the departure of the last byte until the receiver's verdict
    bool takes_time = true;     // false: frames leave at once, however many there are
    ConstBytes payload{};       // of the users; must outlive the line
    // Bytes on the line that none of our engines writes or reads.
    std::size_t framing = 0;    // of each frame: header bytes of the layers below
    std::size_t not_shown = 0;  // of each unit: payload bytes that are counted but not in its frame
};

/// A regular value. Payload in flight is not copied if it lies outside of all engines: the frame
/// has a pointer to it, which is also valid for a copied line. The line owns a copy of all other
/// bytes, at most `own_max` in a frame.
template <std::size_t own_max>
class RetryLine {
public:
    using Terms = RetryLineTerms;

    struct Frame {
        Instant arrival;
        sim::LentFrame parts;
        bool unit = false;  // carries payload, and is kept until acknowledged
        bool resent = false;
        bool damaged = false;
        std::size_t beside = 0;   // bytes of its length that the frame does not contain
        std::uint64_t index = 0;  // of a new unit: how many left for the first time before it
        std::array<std::byte, own_max> own;

        ConstBytes bytes() const { return ConstBytes(own).first(parts.size); }
        std::size_t length() const { return parts.size + parts.lent.size() + beside; }
        RxFrame received() const {
            return {bytes(), PeerId{}, damaged ? Integrity::damaged : Integrity::intact, parts.lent,
                    parts.lent_at};
        }
    };

    explicit RetryLine(const Terms& terms) : terms_(terms), frames_(16) {}

    // The sender's side.
    Instant free_at() const { return free_at_; }
    /// Room for the next frame. Nothing is sent until depart().
    TxFrame& open() {
        if (count_ == frames_.size()) grow();
        tx_.open(place(count_).own, {terms_.frame_max, true, false});
        return tx_;
    }
    /// The opened frame leaves. The caller may set further marks in the result.
    Frame& depart(Instant now, bool unit) {
        Frame& frame = place(count_++);
        take_parts(frame);
        frame.resent = tx_.resent();
        frame.unit = unit;
        frame.damaged = false;
        frame.beside = terms_.framing + (unit ? terms_.not_shown : 0);
        if (terms_.takes_time) free_at_ = now + line_time(frame.length());
        frame.arrival = (terms_.takes_time ? free_at_ : now) + terms_.delay;
        next_arrival_ = frames_[first_].arrival;
        return frame;
    }
    /// Removes the frame that departed last: a notice that is lost.
    void lose_last() {
        --count_;
        next_arrival_ = count_ == 0 ? never : frames_[first_].arrival;
    }

    // The receiver's side.
    Instant next_arrival() const { return next_arrival_; }
    const Frame& front() const { return frames_[first_]; }
    void pop() {
        first_ = (first_ + 1) & (frames_.size() - 1);
        next_arrival_ = --count_ == 0 ? never : frames_[first_].arrival;
    }

    std::size_t in_flight() const { return count_; }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(free_at_ > now ? free_at_ - now : Duration());
        sink.add(count_);
        for (std::size_t i = 0; i < count_; ++i) {
            const Frame& frame = frames_[(first_ + i) & (frames_.size() - 1)];
            sink.add(frame.arrival - now);
            sink.add_bytes(frame.bytes());
            // The address identifies the content, because the payload does not change while the
            // line exists.
            sink.add(frame.parts.lent.empty() ? 0
                                              : frame.parts.lent.data() - terms_.payload.data());
            sink.add(frame.parts.lent.size());
            sink.add(frame.parts.lent_at);
            sink.add(frame.unit);
            sink.add(frame.resent);
            sink.add(frame.damaged);
        }
    }

private:
    Frame& place(std::size_t index) { return frames_[(first_ + index) & (frames_.size() - 1)]; }

    void take_parts(Frame& frame) {
        frame.parts = sim::lend(tx_, frame.own);
        const std::byte* const begin = terms_.payload.data();
        const std::byte* const lent = frame.parts.lent.data();
        if (lent == nullptr || (lent >= begin && lent < begin + terms_.payload.size())) return;
        // The payload lies in the memory of an engine. A copied engine has other memory.
        frame.parts = {.size = tx_.gather_in_place().size()};
    }

    void grow() {
        std::vector<Frame> more(2 * frames_.size());
        for (std::size_t i = 0; i < count_; ++i) more[i] = place(i);
        frames_ = std::move(more);
        first_ = 0;
    }

    Terms terms_;
    std::vector<Frame> frames_;  // a ring; its size is a power of two
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    TxFrame tx_;
    Instant free_at_;
    Instant next_arrival_ = never;
};

}  // namespace wireproof::lab
