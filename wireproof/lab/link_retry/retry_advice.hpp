// The smallest replay buffer and timer that a line needs: the engines of a protocol are simulated
// with one buffer after the other until the throughput is close to that of an endless one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// A physical line, the same both ways.
struct AdviceLine {
    double bytes_per_second = 0;
    double metres = 0;
    double delay_seconds = 0;  // of both ends, there and back: physical layers, MAC, retimers
    double bit_error = 0;
    std::uint32_t payload = 0;  // bytes of a message; 0: as the protocol chooses
};

/// One setting of the protocol that follows from the line, the buffer and the timer.
struct AdvisedLimit {
    std::string name;  // in the words of the specification
    double value = 0;
    std::string unit;
    std::string why;  // a few words
};

struct Advice {
    static constexpr double share = 0.99;  // of the throughput of an endless buffer

    RetrySettings settings;  // with the buffer and the timer
    RetryLink link;
    /// Payload bytes that the receiver takes for each byte time of the line.
    double endless = 0;     // by the closed form if no buffer of the protocol is long enough
    double throughput = 0;  // as simulated with `settings`
    /// False: even the largest buffer of the protocol does not keep `share`.
    bool reached = false;
    std::vector<AdvisedLimit> limits;
};

/// The protocols that can advise, in the order of a table.
std::vector<RetryProtocol> advised_protocols();

/// The error says what does not work on such a line. Of `plan`, the seed and the callbacks count.
Expected<Advice> advise(RetryProtocol protocol, const AdviceLine& line, const RetryPlan& plan);

}  // namespace wireproof::lab
