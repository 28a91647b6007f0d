// Counts by error number why the kernel did not take frames. If no answer comes, an error message
// can name the cause. A value of fixed size: it costs nothing until something fails.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace wireproof {

class SendErrors {
public:
    struct Count {
        int error = 0;  // an errno; 0: all errors after the table was full
        std::uint64_t frames = 0;
    };

    void add(int error, std::uint64_t frames);

    /// In the order of their first occurrence.
    std::span<const Count> counts() const { return std::span(counts_).first(kinds_); }
    /// "Network is unreachable (3 packets), Message too long (1 packet)"; empty without errors.
    std::string to_string() const;

private:
    static constexpr std::size_t kinds_max = 8;

    std::array<Count, kinds_max> counts_{};
    std::size_t kinds_ = 0;
};

/// "Network is unreachable"; of 0, which stands for several: "other errors".
std::string text_of_send_error(int error);

}  // namespace wireproof
