#include "wireproof/proto/pcie/config.hpp"

#include <algorithm>
#include <string>

#include "wireproof/proto/pcie/wire_format.hpp"

namespace wireproof::pcie {

Config Config::of_link(LinkRate rate, std::size_t payload_max) {
    Config config;
    config.payload_max = payload_max;
    config.byte_time = rate.time_of(1);
    const Duration symbol = rate.symbol_time();
    const std::int64_t latency = ack_latency_limit(rate, payload_max);
    const Duration longest = config.time_of(payload_max + tlp_overhead);
    // An Ack that becomes due while the longest TLP leaves must still be in time.
    config.ack_latency = std::max(symbol * latency - longest, symbol * (latency / 8));
    config.replay_after = symbol * replay_limit(rate, payload_max);
    return config;
}

Config Config::of_datagrams(std::size_t frame_max) {
    Config config;
    const std::size_t payload = frame_max > tlp_overhead ? (frame_max - tlp_overhead) / 4 * 4 : 0;
    config.payload_max = std::min<std::size_t>(payload, 4096);
    // A datagram wire accepts a whole window at once, and a Nak causes all of it to be resent. So
    // the window is not larger than what the path holds.
    config.outstanding = 32;
    config.replay_slots = 64;
    config.ack_latency = Duration::microseconds(200);
    config.ack_after = 8;
    config.replay_after = Duration::milliseconds(20);
    config.replay_floor = Duration::milliseconds(2);
    config.backs_off = true;
    config.retrain_time = Duration::microseconds(100);
    config.init_every = Duration::milliseconds(20);
    config.update_every = Duration::milliseconds(20);
    return config;
}

Expected<void> Config::check() const {
    const auto outside = [](const char* what, std::uint64_t is, std::uint64_t least,
                            std::uint64_t most) {
        return unexpected(std::string(what) + " is " + std::to_string(is) + ", and must be " +
                          std::to_string(least) + " to " + std::to_string(most));
    };
    if (modulus < 4 || modulus > 4096 || modulus % 2 != 0) {
        return unexpected("modulus " + std::to_string(modulus) +
                          " is not an even number from 4 to 4096");
    }
    if (first_number >= modulus) return outside("first number", first_number, 0, modulus - 1);
    if (outstanding < 1 || outstanding >= modulus / 2) {
        return outside("unacknowledged TLPs", outstanding, 1, modulus / 2 - 1);
    }
    if (payload_max < 1 || payload_max > 4096) return outside("payload", payload_max, 1, 4096);
    if (replay_slots < 1) return outside("replay buffer", replay_slots, 1, 1U << 20);
    for (const Credits& advertised : credits) {
        if (advertised.headers > 127) return outside("header credits", advertised.headers, 0, 127);
        if (advertised.data > 2047) return outside("data credits", advertised.data, 0, 2047);
        if (advertised.data > 0 && advertised.data * data_unit < payload_max) {
            return unexpected(std::to_string(advertised.data) +
                              " data credits do not hold the largest payload");
        }
    }
    for (const Duration each : {replay_after, init_every, update_every}) {
        if (each <= Duration()) return unexpected("a timer must be longer than 0");
    }
    if (replay_floor < Duration() || replay_floor > replay_after) {
        return unexpected(
            "the shortest replay timer must not be negative, and not longer than the first");
    }
    return {};
}

}  // namespace wireproof::pcie
