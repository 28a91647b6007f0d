// Checks numbered messages as they arrive: each once, in order, and with the expected length.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wireproof::app {

class MessageOrder {
public:
    enum class Verdict : std::uint8_t {
        counts,
        late,          // of an earlier measurement, or overtaken: it does not count
        not_the_next,  // error on a reliable transport: a gap, a duplicate or a wrong order
        wrong_length,
    };

    /// Numbers wrap at 32 bits. If messages can be lost (`all_come` is false), numbers may be
    /// missing.
    MessageOrder(bool all_come, std::uint32_t first) : all_come_(all_come), next_(first) {}

    /// The next message has this number and this length in bytes.
    void expect(std::uint32_t number, std::size_t size) {
        next_ = number;
        size_ = size;
    }

    Verdict take(std::uint32_t number, std::size_t size) {
        constexpr std::uint32_t behind = 0x8000'0000;
        const std::uint32_t ahead = number - next_;
        if (all_come_ && ahead != 0) return Verdict::not_the_next;
        if (ahead >= behind) return Verdict::late;
        if (size != size_) return Verdict::wrong_length;
        next_ += ahead + 1;
        ++received_;
        return Verdict::counts;
    }

    std::uint32_t next() const { return next_; }
    std::size_t size() const { return size_; }
    std::uint64_t received() const { return received_; }

private:
    bool all_come_;
    std::uint32_t next_;
    std::size_t size_ = 0;
    std::uint64_t received_ = 0;
};

}  // namespace wireproof::app
