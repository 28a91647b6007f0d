// A path for tests of congestion control: it delivers `rate` packets per second in order, and what
// is beyond waits in a queue. One call of round() is one round trip of a flow that fills its
// window.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/core/congestion/control.hpp"

namespace wireproof::congestion {

struct TestPath {
    std::uint32_t rate = 10'000;  // packets per second
    Duration shortest = Duration::milliseconds(10);
    Duration others{};  // how long the packets of other flows in the queue delay each packet
    double loss = 0;    // share of the packets that is lost at random
    Instant now{Duration::milliseconds(1)};

    std::uint32_t busy() const {  // how many packets in flight keep the path busy
        return static_cast<std::uint32_t>(rate * shortest.seconds());
    }

    /// In 16 answers, as the engine asks for them.
    template <class Window>
    void round(Window& window) {
        const std::uint32_t in_flight = window.packets();
        const Duration served = Duration::from_seconds(static_cast<double>(in_flight) / rate);
        const Duration rtt = std::max(shortest, served) + others;
        const auto lost = static_cast<std::uint32_t>(loss * in_flight);
        for (std::uint32_t answer = 0; answer < 16; ++answer) {
            now = now + Duration(rtt.picoseconds() / 16);
            window.on_rtt(now, rtt);
            const auto share = [&](std::uint32_t all) {
                return all * (answer + 1) / 16 - all * answer / 16;
            };
            if (share(in_flight - lost) > 0) {
                window.on_arrived(now, share(in_flight - lost), in_flight);
            }
            if (share(lost) > 0) window.on_lost(now, share(lost));
        }
    }
    template <class Window>
    void rounds(Window& window, int count) {
        for (int i = 0; i < count; ++i) round(window);
    }
};

}  // namespace wireproof::congestion
