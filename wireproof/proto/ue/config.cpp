#include "wireproof/proto/ue/config.hpp"

#include <algorithm>
#include <string>

#include "wireproof/proto/ue/wire_format.hpp"

namespace wireproof::ue {
namespace {

std::uint64_t bytes_in(Duration time, Duration byte_time) {
    const auto per_byte = byte_time.picoseconds();
    return static_cast<std::uint64_t>((time.picoseconds() + per_byte - 1) / per_byte);
}

tl::unexpected<Error> outside(const char* what, std::uint64_t is, std::uint64_t least,
                              std::uint64_t most) {
    return unexpected(std::string(what) + " is " + std::to_string(is) + ", and must be " +
                      std::to_string(least) + " to " + std::to_string(most));
}

// Timers and buffers that follow from `data`, the bytes that may be unacknowledged.
void fill_in(Config& config, const LineFigures& line, std::uint64_t data) {
    const std::size_t frame = config.mac_size(config.payload_max);
    config.outstanding_data_max = std::max<std::uint64_t>(data, frame);
    const std::uint64_t least = config.mac_size(0);
    config.outstanding_seq_max = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(config.outstanding_data_max / least, 1, Config::numbers / 2));
    config.replay_slots = config.outstanding_seq_max + 1;
    config.init_every = {};
    const Duration answer = line.round_trip + config.time_of(config.ctl_spacing);
    // The answer to the first resent frame may come only when the whole buffer has left again.
    config.replay_timer_max = answer * 2 + config.time_of(config.outstanding_data_max);
}

// LLR-21, LLR-22: the count flushes before the age does, and the age before the PCS.
void age_after_count(Config& config) {
    const Duration attempt = config.replay_timer_max + config.time_of(config.outstanding_data_max);
    config.data_age_timer_max = attempt * (std::int64_t{config.replay_ct_max} + 1);
    config.pcs_lost_status_timer_max = config.data_age_timer_max * 2;
}

}  // namespace

Config Config::of_line(const LineFigures& line, std::size_t payload_max) {
    Config config;
    config.payload_max = payload_max;
    config.byte_time = line.byte_time;
    config.replay_ct_max = 3;
    // LLR-24: a round trip, the wait of the ACK for its slot, and two frames that must end first.
    const std::uint64_t data = bytes_in(line.round_trip, line.byte_time) + config.ack_spacing +
                               config.ctl_spacing + 2 * config.mac_size(payload_max);
    fill_in(config, line, data);
    age_after_count(config);
    return config;
}

Config Config::of_slingshot(const LineFigures& line, std::size_t payload_max) {
    constexpr std::uint64_t quantum = 64;
    Config config;
    config.payload_max = payload_max;
    config.byte_time = line.byte_time;
    config.replay_ct_max = 254;
    constexpr std::uint64_t two_longest_frames = 18'432;
    const std::uint64_t data = bytes_in(line.round_trip, line.byte_time) + two_longest_frames +
                               config.mac_size(payload_max) + preamble_size;
    fill_in(config, line, (data + quantum - 1) / quantum * quantum);
    config.replay_timer_max =
        std::clamp(line.round_trip * 3 + Duration::nanoseconds(500), Duration::nanoseconds(1000),
                   Duration::nanoseconds(15'500));
    age_after_count(config);
    return config;
}

// LLR-30
Config Config::of_datagrams(std::size_t frame_max) {
    Config config;
    config.frame_min = 0;
    config.checks_numbers = true;  // LLR-38
    config.payload_max =
        std::min(frame_max > frame_overhead ? frame_max - frame_overhead : 0, longest_payload);
    // A datagram wire accepts a whole window at once, and a NACK causes all of it to be resent. So
    // the window is not larger than what the path holds.
    config.outstanding_seq_max = 32;
    config.replay_slots = 64;
    config.ctl_spacing = config.ack_spacing = 0;
    config.replay_timer_max = Duration::milliseconds(20);
    config.replay_floor = Duration::milliseconds(2);
    config.backs_off = config.acks_after_nack = true;
    config.data_age_timer_max = config.pcs_lost_status_timer_max = {};
    config.init_every = Duration::milliseconds(20);
    return config;
}

Duration Config::init_interval() const {
    return std::max(init_every, time_of(std::uint64_t{init_multiple} * ctl_spacing));
}

std::size_t Config::mac_size(std::size_t message) const {
    return std::max(frame_min, message + frame_overhead - preamble_size);
}

bool Config::reaches_replay_ct() const {
    if (data_age_timer_max == Duration() || replay_ct_max == replay_ct_none) return true;
    const Duration attempt = replay_timer_max + time_of(outstanding_data_max);
    return data_age_timer_max > attempt * std::int64_t{replay_ct_max};
}

Expected<void> Config::check() const {
    if (modulus < 2 || modulus > numbers || modulus % 2 != 0) {
        return unexpected("modulus " + std::to_string(modulus) +
                          " is not an even number from 2 to " + std::to_string(numbers));
    }
    if (first_number >= modulus) return outside("first number", first_number, 0, modulus - 1);
    // LLR-3
    if (outstanding_seq_max < 1 || outstanding_seq_max > modulus / 2) {
        return outside("outstanding_seq_max", outstanding_seq_max, 1, modulus / 2);
    }
    if (payload_max < 1 || payload_max > longest_payload) {
        return outside("payload", payload_max, 1, longest_payload);
    }
    if (frame_min > longest_payload) return outside("frame_min", frame_min, 0, longest_payload);
    if (outstanding_data_max < mac_size(payload_max)) {
        return unexpected("outstanding_data_max of " + std::to_string(outstanding_data_max) +
                          " bytes does not hold the largest frame");
    }
    if (replay_slots < 1)
        return outside("replay buffer", replay_slots, 1, std::uint64_t{2} * numbers);
    if (replay_ct_max > replay_ct_none) {
        return outside("replay_ct_max", replay_ct_max, 0, replay_ct_none);
    }
    // LLR-8
    if (replay_timer_max <= Duration()) {
        return unexpected("without a replay timer, one lost NACK stops the link");
    }
    if (replay_floor < Duration() || replay_floor > replay_timer_max) {
        return unexpected(
            "the shortest replay timer must not be negative, and not longer than the first");
    }
    for (const Duration each : {pcs_lost_status_timer_max, data_age_timer_max, ack_idle}) {
        if (each < Duration()) return unexpected("a timer cannot be negative");
    }
    if (backs_off && !acks_after_nack) {
        return unexpected("replays of one frame need ACKs after a NACK");
    }
    if (init_interval() <= Duration())
        return unexpected("the time between two INIT must be longer than 0");
    if (poison_pattern == 0) return unexpected("a poison pattern of 0 marks every frame");
    if (init_data_values < 1 || init_data_values > 65'536) {
        return outside("number of init_data values", init_data_values, 1, 65'536);
    }
    if (restarts_both_ways && init_data_values < 4) {
        return unexpected("a restart of both ways needs 4 init_data values or more");
    }
    if (first_init_data >= init_data_values) {
        return outside("first init_data", first_init_data, 0, init_data_values - 1);
    }
    return {};
}

Expected<void> Config::check_attributes() const {
    const auto nanoseconds = [](Duration time) {
        return static_cast<std::uint64_t>(time.nanoseconds());
    };
    constexpr std::uint64_t longest_timer = 4'290'000'000;
    if (nanoseconds(replay_timer_max) > 65'535) {
        return outside("replay_timer_max in ns", nanoseconds(replay_timer_max), 0, 65'535);
    }
    for (const Duration each : {pcs_lost_status_timer_max, data_age_timer_max}) {
        if (nanoseconds(each) > longest_timer) {
            return outside("a timer in ns", nanoseconds(each), 0, longest_timer);
        }
    }
    if (outstanding_data_max > 0x7FFFFFFF) {
        return outside("outstanding_data_max", outstanding_data_max, 0, 0x7FFFFFFF);
    }
    if (ctl_spacing < 320 || ctl_spacing > 32'760) {
        return outside("spacing of control ordered sets", ctl_spacing, 320, 32'760);
    }
    if (ack_spacing < 320 || ack_spacing > 32'760) {
        return outside("spacing of ACKs", ack_spacing, 320, 32'760);
    }
    return {};
}

}  // namespace wireproof::ue
