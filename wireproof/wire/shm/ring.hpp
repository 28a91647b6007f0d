// Frames from one producer to one consumer, through lines of 64 bytes of shared memory. A frame
// takes whole lines: its length word, then its bytes. When the length word becomes nonzero, the
// frame is there. A frame of up to 56 bytes travels in one cache line.
//
//      line     │ word │ spare │ first 56 bytes of the frame … │ … the rest, line after line │
//      offset   0      4       8                              64
//
// The consumer only reads lines. So the producer keeps the word after the last published frame
// zero, and the word after that as well. The consumer then never waits for a line that is written
// twice, once to clear it and once to fill it. After a long copy the producer clears a line farther
// ahead.
//
//          told_ to the producer      consumer's head_              tail_   zeroed_to_
//      ──────┬───────────────────────────┬────────────────────────────┬───┬───┬───────
//            │ read, not yet given back  │ published, then committed  │ 0 │ 0 │ free
//
// The memory is mapped twice in a row, so that no frame wraps. Positions count lines, modulo 2^64.
// The consumer reads each length word once, and no value of it leads outside the memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"

namespace wireproof {

inline constexpr std::size_t line_bytes = 64;

/// An integer in memory that is shared with another process. All code reads and writes it in this
/// way.
template <class T>
std::atomic_ref<T> shared_word(std::byte* at) {
    return std::atomic_ref<T>(*static_cast<T*>(static_cast<void*>(at)));
}

/// Fetches a line that will soon be written. This is an instruction of its own, because compilers
/// for any x86-64 would fetch the line for reading only, and the first write would wait for it
/// again.
inline void fetch_to_write(std::byte* at) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*at));
#else
    __builtin_prefetch(at, 1);
#endif
}

/// Where a ring is. Both ends see the same pages, each at addresses of its own.
struct RingMemory {
    std::byte* lines_at =
        nullptr;  // 2 * lines * line_bytes bytes: the second half mirrors the first
    std::byte* head_at = nullptr;  // the consumer's position, in a cache line that only it writes
    std::size_t lines = 0;         // a power of two
};

/// The bits of a length word. 0 means that there is no frame yet.
struct RingWord {
    static constexpr std::uint32_t published = 1U << 31;
    static constexpr std::uint32_t control = 1U << 30;  // a frame of the wire, not of the user
    static constexpr std::uint32_t size_mask = control - 1;

    static constexpr std::size_t bytes = 8;  // with the spare bytes, which keep frames aligned

    /// Lines that a frame of `size` bytes takes.
    static constexpr std::uint64_t lines_of(std::size_t size) {
        return (size + bytes + line_bytes - 1) / line_bytes;
    }
};

/// The longest frame of a ring: a quarter of its lines. So producer and consumer can work at the
/// same time, and a consumer that gives room back late still leaves room for one frame.
constexpr std::size_t longest_frame(std::size_t lines) {
    return lines / 4 * line_bytes - RingWord::bytes;
}

/// The writing end. Belongs to one thread.
class RingProducer {
public:
    RingProducer() = default;  // lends no room

    /// The memory is zero from the start position on, or the constructor sets the first words to
    /// zero: then it must run before the consumer first looks. `start` is the position where both
    /// ends begin, in lines.
    RingProducer(RingMemory memory, std::size_t frame_max, std::uint64_t start = 0)
        : memory_(memory),
          frame_max_(frame_max),
          needed_(RingWord::lines_of(frame_max) + zeroed_far_ahead),
          head_seen_(start),
          tail_(start),
          tail_at_(line(start)),
          limit_(start + memory.lines),
          first_unpublished_(start),
          zeroed_to_(start) {
        WIREPROOF_CHECK(std::has_single_bit(memory.lines) &&
                        frame_max <= longest_frame(memory.lines));
        while (zeroed() < zeroed_ahead) clear_next();
    }

    /// Room for one frame, frame_max bytes in the ring. Empty: there is none until the consumer
    /// gives room back. Returns the same room until commit(). The caller must not publish while the
    /// room holds bytes that it will commit.
    [[gnu::always_inline]] Bytes claim() {
        if (!has_room()) return {};
        return Bytes(tail_at_ + RingWord::bytes, frame_max_);
    }

    /// The first `size` bytes of the claimed room are a frame. The consumer sees it after
    /// publish(), together with all frames since the last publish().
    void commit(std::size_t size, std::uint32_t mark = 0) {
        const std::uint32_t word = RingWord::published | mark | static_cast<std::uint32_t>(size);
        if (tail_ == first_unpublished_) {
            first_word_ = word;
        } else {
            shared_word<std::uint32_t>(tail_at_).store(word, std::memory_order_relaxed);
        }
        const std::uint64_t lines = RingWord::lines_of(size);
        tail_ += lines;
        tail_at_ = line(tail_);
        fetch_ahead(lines);
    }

    /// Fetches the line of the next frame.
    void fetch_room() const {
        if (tail_at_ != nullptr) fetch_to_write(tail_at_);
    }

    /// Lines committed and not yet published.
    std::uint64_t unpublished() const { return tail_ - first_unpublished_; }

    void publish() {
        if (tail_ == first_unpublished_) return;
        clear_behind();
        word_of(first_unpublished_).store(first_word_, std::memory_order_release);
        first_unpublished_ = tail_;
        clear_ahead();
    }

    /// commit() and publish() in the fewest steps. The caller uses it only if nothing is
    /// unpublished.
    [[gnu::always_inline]] void publish_single(std::size_t size) {
        const std::uint64_t lines = RingWord::lines_of(size);
        tail_ = first_unpublished_ = tail_ + lines;
        clear_behind();
        shared_word<std::uint32_t>(tail_at_).store(
            RingWord::published | static_cast<std::uint32_t>(size), std::memory_order_release);
        tail_at_ = line(tail_);
        clear_ahead();
        fetch_ahead(lines);
    }

    /// The caller made a long copy, which the next publish announces, and may make another. The
    /// consumer waits at the line after the frame, and its processor also fetches the line after
    /// that one. If the producer cleared that line, the next copy would wait. From the second such
    /// frame of one or two lines on, the producer clears a line farther ahead instead. Short frames
    /// would be slower with that.
    void copied_much() { zeroed_wanted_ = zeroed_far_ahead; }

    /// The caller wrote to lent room and did not commit it: this may have overwritten cleared
    /// words.
    void distrust_room() {
        if (zeroed() > 1) zeroed_to_ = tail_ + 1;
    }

    /// The consumer's position is wrong: it is after frames that were never sent, or before frames
    /// that it gave back earlier.
    bool broken() const { return broken_; }

    /// Whether claim would lend room now.
    bool has_room() { return limit_ - tail_ >= needed_ || find_room(); }

    /// The room as last seen, in lines.
    std::uint64_t room() const { return limit_ - tail_; }

private:
    static constexpr std::int64_t zeroed_ahead = 2;
    static constexpr std::int64_t zeroed_far_ahead = 4;
    static constexpr std::uint64_t fetched_ahead = 8;  // measured: see README

    std::byte* line(std::uint64_t position) const {
        return memory_.lines_at + (position & (memory_.lines - 1)) * line_bytes;
    }
    std::atomic_ref<std::uint32_t> word_of(std::uint64_t position) const {
        return shared_word<std::uint32_t>(line(position));
    }
    /// Words from the tail on that are known to be zero; 0 or less: frames were committed over
    /// them.
    std::int64_t zeroed() const { return static_cast<std::int64_t>(zeroed_to_ - tail_); }
    void clear_next() { word_of(zeroed_to_++).store(0, std::memory_order_relaxed); }

    /// Before a frame becomes visible: the consumer looks at the word after it next, so that word
    /// must be zero.
    void clear_behind() {
        if (zeroed() < 1) {
            zeroed_to_ = tail_;
            clear_next();
        }
    }
    /// After a frame has become visible, so that this does not delay it. The write also fetches the
    /// line, usually that of the frame after the next.
    void clear_ahead() {
        if (zeroed() < zeroed_wanted_) clear_next();
        if (zeroed_wanted_ != zeroed_ahead) [[unlikely]] {
            if (zeroed() < zeroed_wanted_) clear_next();
            zeroed_wanted_ = zeroed_ahead;
        }
    }

    // Fetches one line for each line that was taken, so that a stream of longer frames finds no
    // line missing.
    void fetch_ahead(std::uint64_t lines) {
        if (lines == 1) return fetch_to_write(line(tail_ + fetched_ahead));
        const std::uint64_t end = tail_ + fetched_ahead + 1;
        for (std::uint64_t at = end - std::min(lines, fetched_ahead); at != end; ++at) {
            fetch_to_write(line(at));
        }
    }

    bool find_room() {
        if (memory_.lines == 0 || broken_) return false;
        const auto head =
            shared_word<std::uint64_t>(memory_.head_at).load(std::memory_order_acquire);
        if (head - head_seen_ > tail_ - head_seen_) {
            broken_ = true;
            return false;
        }
        head_seen_ = head;
        limit_ = head + memory_.lines;
        return limit_ - tail_ >= needed_;
    }

    RingMemory memory_;
    std::size_t frame_max_ = 0;
    std::uint64_t needed_ = 1;  // lines for the longest frame, and those kept zero after it
    std::uint64_t head_seen_ = 0;
    std::uint64_t tail_ = 0;
    std::byte* tail_at_ = nullptr;  // the line of tail_
    std::uint64_t limit_ = 0;
    std::uint64_t first_unpublished_ = 0;
    std::uint64_t zeroed_to_ = 0;                // words before it are zero from the tail on
    std::int64_t zeroed_wanted_ = zeroed_ahead;  // after the next published frame
    std::uint32_t first_word_ = 0;
    bool broken_ = false;
};

/// The word that a consumer without a ring reads.
inline std::uint32_t no_word = 0;

/// The reading end. Belongs to one thread. It tells the producer its position only after it has
/// read an eighth of the ring: until then the line of the position stays in the producer's cache.
class RingConsumer {
public:
    struct Frame {
        ConstBytes bytes;
        bool control = false;
    };

    RingConsumer() = default;  // never has a frame

    RingConsumer(RingMemory memory, std::size_t frame_max, std::uint64_t start = 0)
        : memory_(memory),
          frame_max_(frame_max),
          given_back_at_(memory.lines / 8),
          head_(start),
          told_(start),
          next_at_(line(start)) {
        WIREPROOF_CHECK(std::has_single_bit(memory.lines) &&
                        frame_max <= longest_frame(memory.lines));
    }

    bool has_frame() const { return next_word() != 0; }

    /// Lends the oldest frame and takes back the one lent before.
    [[gnu::always_inline]] std::optional<Frame> next() {
        take_back();
        std::byte* const at = next_at_;
        const std::uint32_t word = next_word();
        if (word == 0) return std::nullopt;
        const std::size_t size = word & RingWord::size_mask;
        if ((word & RingWord::published) == 0 || size > frame_max_ || broken_) [[unlikely]] {
            broken_ = true;
            return std::nullopt;
        }
        lend(size);
        return Frame{ConstBytes(at + RingWord::bytes, size), (word & RingWord::control) != 0};
    }

    /// The caller no longer needs the lent frame.
    void take_back() {
        if (lent_ == 0) return;
        head_ += lent_;
        lent_ = 0;
        if (head_ - told_ < given_back_at_) return;
        told_ = head_;
        gave_back_ = true;
        shared_word<std::uint64_t>(memory_.head_at).store(head_, std::memory_order_release);
    }

    /// Whether room has been given back since this was asked last.
    bool gave_back() { return std::exchange(gave_back_, false); }
    /// The answer of gave_back(), without a change.
    bool gives_back() const { return gave_back_; }

    /// A length word is invalid: from now on nothing of the producer can be trusted.
    bool broken() const { return broken_; }

private:
    /// The length word of the frame after the lent one. 0: there is none yet.
    [[gnu::always_inline]] std::uint32_t next_word() const {
        return shared_word<std::uint32_t>(next_at_).load(std::memory_order_acquire);
    }
    void lend(std::size_t size) {
        lent_ = RingWord::lines_of(size);
        next_at_ = line(head_ + lent_);
    }

    std::byte* line(std::uint64_t position) const {
        return memory_.lines_at + (position & (memory_.lines - 1)) * line_bytes;
    }

    RingMemory memory_;
    std::size_t frame_max_ = 0;
    std::uint64_t given_back_at_ = 0;
    std::uint64_t head_ = 0;
    std::uint64_t told_ = 0;
    std::uint64_t lent_ = 0;  // lines of the frame lent
    std::byte* next_at_ = static_cast<std::byte*>(static_cast<void*>(&no_word));  // after it
    bool gave_back_ = false;
    bool broken_ = false;
};

}  // namespace wireproof
