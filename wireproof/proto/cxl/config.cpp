#include "wireproof/proto/cxl/config.hpp"

#include <string>

namespace wireproof::cxl {

Config Config::of_datagrams() {
    Config config;
    config.flit_time = Duration::microseconds(5);
    config.timeout = 4096;      // 20 ms
    config.ack_flush = 40;      // 200 us
    config.probe_after = 800;   // 4 ms
    config.train_every = 4096;  // 20 ms
    config.retrain_time = Duration::microseconds(100);
    config.backs_off = true;
    // ABORT would not help on a path that always loses some datagrams. The owner of the link gives
    // it up by unanswered().
    config.max_num_phy_reinit = unlimited;
    return config;
}

Expected<void> Config::check() const {
    struct Range {
        const char* what;
        std::uint32_t is, least, most;
    };
    constexpr std::uint32_t flits_max = 1U << 24;
    const Range ranges[] = {
        {"LLRB depth", modulus, 4, 255},
        {"first number", first_number, 0, modulus - 1},
        {"messages that wait", queue, 1, 1U << 20},
        {"MAX_NUM_RETRY", max_num_retry, 1, 31},
        {"RETRY.Frames of a sequence", frames, 1, 5},
        {"RETRY.Frames that must arrive", frames_needed, 1, frames},
        {"TIMEOUT", timeout, 1, flits_max},
        {"acknowledgements that force an LLCRD", ack_threshold, 1, modulus - 2},
        {"flits until acknowledgements leave", ack_flush, 1, flits_max},
        {"flits until a probe", probe_after, 0, flits_max},
        {"numbers of trainings", training_numbers, 3, 256},
        {"flits until a training set is repeated", train_every, 1, flits_max},
    };
    for (const Range& range : ranges) {
        if (range.is >= range.least && range.is <= range.most) continue;
        return unexpected(std::string(range.what) + ": " + std::to_string(range.is) +
                          ", and must be " + std::to_string(range.least) + " to " +
                          std::to_string(range.most));
    }
    if (max_num_phy_reinit > 31 && max_num_phy_reinit != unlimited) {
        return unexpected("MAX_NUM_PHY_REINIT: " + std::to_string(max_num_phy_reinit) +
                          ", and must be 0 to 31 or unlimited");
    }
    if (!continuous && flit_time <= Duration()) {
        return unexpected("without a flit time, the timers of a link on demand never run");
    }
    if (retrain_time < Duration()) return unexpected("the time to retrain cannot be negative");
    return {};
}

}  // namespace wireproof::cxl
