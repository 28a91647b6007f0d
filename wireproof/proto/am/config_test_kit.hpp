// For tests: the configurations in which the tests run the rules of SP AM. A test is written once
// and runs in each: `for (const Config& config : all())`.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <vector>

#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am::test {

/// With the session of a launcher, and numbers that soon wrap.
inline Config launched(Config config) {
    config.cookie = 0xC00C1E;
    const auto modulus = static_cast<std::uint32_t>(config.modulus);  // 2^32 becomes 0, as intended
    config.first_number = {modulus - 3, modulus - 2};
    return config;
}

/// The paper's settings.
inline Config sp2() {
    return launched(Config::sp2());
}

/// Today's settings, without what saves packets: each message has its own frame, all bytes of a
/// store are in chunks, and an acknowledgement that is held back waits until the sender asks.
inline Config bare() {
    Config config = launched(Config::ethernet());
    config.bundle_max = 0;
    config.open_bytes = 0;
    config.ack_after = {};
    return config;
}

/// Short messages share packets; three messages of one word fit.
inline Config bundling(Config config) {
    config.bundle_max = 24;
    return config;
}

/// The OPEN of a store carries its first bytes, or all bytes of a short store.
inline Config opening(Config config) {
    config.open_bytes = config.data_max() - OpenBody::size;
    return config;
}

/// The settings that a user has over UDP, and between processes of one host (front/am). Only the
/// session is that of a launcher; in meeting(), HELLOs agree on it.
inline Config udp() {
    return launched(Config::ethernet());
}
inline Config shared_memory() {
    return launched(Config::shared_memory());
}

/// The configurations in which a rule is tested: `for (const Config& config : all())`. A failure
/// says in which one.
class Configs {
public:
    struct Named {
        const char* name;
        Config config;
    };
    class Iterator {
    public:
        explicit Iterator(const std::vector<Named>& of) : at_(of.data()), end_(at_ + of.size()) {}
        const Config& operator*() {
            trace_.emplace(__FILE__, __LINE__, at_->name);
            return at_->config;
        }
        void operator++() {
            trace_.reset();
            ++at_;
        }
        bool operator!=(std::nullptr_t) const { return at_ != end_; }

    private:
        const Named* at_;
        const Named* end_;
        std::optional<testing::ScopedTrace> trace_;
    };

    Configs(std::initializer_list<Named> all) : all_(all) {}
    Iterator begin() const { return Iterator(all_); }
    std::nullptr_t end() const { return nullptr; }

    Configs and_also(const Named& another) const {
        Configs more = *this;
        more.all_.push_back(another);
        return more;
    }
    /// Without those whose sender asks, while packets are in flight, what has arrived (congestion
    /// control): for tests that name every frame.
    Configs without_questions() const {
        Configs fewer = *this;
        std::erase_if(fewer.all_,
                      [](const Named& each) { return each.config.congestion != Congestion::off; });
        return fewer;
    }
    /// Changes each of them.
    template <class Change>
    Configs with(Change&& change) const {
        Configs changed = *this;
        for (Named& each : changed.all_) each.config = change(each.config);
        return changed;
    }

private:
    std::vector<Named> all_;
};

/// The settings that users have: over UDP on one host and between hosts (front/am), and on shared
/// memory.
inline Configs shipped() {
    Config between_hosts = udp();
    between_hosts.congestion = Congestion::by_loss;
    Config by_path = between_hosts;
    by_path.congestion = Congestion::by_path;
    return {{"as over UDP", udp()},
            {"as between hosts", between_hosts},
            {"as between hosts, by the path", by_path},
            {"as on shared memory", shared_memory()}};
}
/// Also the bare one: all that have selective recovery.
inline Configs selective() {
    return shipped().and_also({"bare", bare()});
}
/// Also the paper's.
inline Configs all() {
    return selective().and_also({"sp2", sp2()});
}
/// Those that measure round trips and whose paths have an MTU.
inline Configs over_a_network() {
    return {{"bare", bare()}, {"as over UDP", udp()}};
}

/// Chunks of 4, and windows of two chunks, for short transcripts.
inline Config small(Config config) {
    config.chunk_packets = 4;
    config.chunks_in_flight = 2;
    config.window = {12, 13};
    config.reply_places = 3;
    config.get_slots = 1;
    config.stores_max = config.gets_max = 3;
    config.held_packets = config.recovery == Recovery::selective ? 12 : 0;
    config.packet_max = std::min<std::size_t>(config.packet_max, 4088);  // quick to compare
    config.message_max = std::min(config.message_max, config.data_max());
    return config;
}

inline Configs all_small() {
    return all().with(small);
}

/// The same, but HELLOs agree on the session.
inline Config meeting(Config config) {
    config.cookie.reset();
    return config;
}

}  // namespace wireproof::am::test
