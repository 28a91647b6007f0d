#include "wireproof/proto/flit/config.hpp"

#include <string>

namespace wireproof::flit {

Config Config::pcie6() {
    return {};
}

Config Config::pcie6_selective() {
    Config config;
    config.selective = true;
    config.explicit_after_jump = 3;  // FLIT-23
    return config;
}

Config Config::cxl3() {
    Config config;
    config.format = Format::cxl;
    return config;
}

Config Config::cxl3_halves() {
    Config config;
    config.format = Format::cxl_halves;
    config.crc_order = CrcOrder::first_byte_first;  // CXL-29
    return config;
}

// UCIE-1 to 4. UCIE-10: nothing is stored, so one explicit flit after a jump suffices.
Config Config::ucie_68() {
    Config config;
    config.format = Format::ucie_68;
    config.modulus = 255;
    config.outstanding = 127;
    config.replay_slots = 128;
    config.withdraws = false;
    config.explicit_run = config.nak_run = 1;
    config.timeout_flits = 375;
    config.trailing_nops = 0;
    return config;
}

Config Config::ucie_256() {
    Config config = ucie_68();
    config.format = Format::ucie_256;
    return config;
}

Config Config::of_datagrams(std::size_t frame_max) {
    Config config;
    config.format = frame_max < Shape::of(Format::pcie).size ? Format::ucie_68 : Format::pcie;
    if (config.format == Format::ucie_68) config.modulus = 255;
    config.continuous = false;
    // A datagram wire accepts a whole window at once, and a Nak causes all of it to be resent.
    config.outstanding = 32;
    config.replay_slots = 64;
    config.withdraws = false;
    config.explicit_run = config.nak_run = 1;
    config.ack_after = 8;
    config.ack_latency = Duration::microseconds(200);
    config.flit_time = Duration::microseconds(10);
    config.timeout_flits = 2000;  // 20 ms
    config.nak_ignore = 100;      // 1 ms
    config.start_explicit = config.start_acks = 1;
    config.retrain_time = Duration::microseconds(100);
    config.replay_floor = Duration::milliseconds(2);
    config.backs_off = true;
    return config;
}

namespace {

Expected<void> outside(const char* what, std::uint64_t is, std::uint64_t least,
                       std::uint64_t most) {
    return unexpected(std::string(what) + " is " + std::to_string(is) + ", and must be " +
                      std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

Expected<void> Config::check() const {
    const std::uint32_t number_max = Shape::of(format).number_max;
    if (modulus < 3 || modulus > number_max || modulus % 2 == 0) {
        return unexpected("modulus " + std::to_string(modulus) +
                          " is not an odd number from 3 to " + std::to_string(number_max));
    }
    if (first_number < 1 || first_number > modulus) {
        return outside("first number", first_number, 1, modulus);
    }
    if (outstanding < 1 || outstanding > (modulus - 1) / 2) {
        return outside("unacknowledged flits", outstanding, 1, (modulus - 1) / 2);
    }
    if (replay_slots < 1) return outside("replay buffer", replay_slots, 1, 1U << 20);
    if (explicit_run < 1) return outside("explicit flits in a row", explicit_run, 1, 1U << 10);
    if (nak_run < 1) return outside("Naks in a row", nak_run, 1, 1U << 10);
    if (explicit_after_jump < 1) {
        return outside("explicit flits after a jump", explicit_after_jump, 1, 1U << 10);
    }
    if (timeout_flits < 1) return outside("replay timer", timeout_flits, 1, 1U << 20);
    if (selective) {
        if (!has_usage(format)) return unexpected("UCIe has no selective Nak");
        if (!withdraws) return unexpected("a selective Nak needs a receiver that withdraws");
        if (mends.explicit_run_after_jump && explicit_after_jump < 2) {
            return unexpected("with selective Nak, at least 2 flits after a jump are explicit");
        }
    }
    if (withdraws && !has_usage(format)) return unexpected("UCIe withdraws nothing");
    if (starts_up && (start_explicit < 1 || start_acks < 1)) {
        return unexpected("the handshake needs an explicit flit and an Ack");
    }
    if (starts_up && start_flits_max <= start_explicit + start_acks) {
        return unexpected("the handshake is shorter than what it must send");
    }
    if (!continuous) {
        for (const Duration each : {flit_time, start_every}) {
            if (each <= Duration()) return unexpected("a timer must be longer than 0");
        }
        if (ack_after < 1) return outside("flits until an Ack", ack_after, 1, 1U << 20);
        if (replay_floor < Duration() || replay_floor > time_of(timeout_flits)) {
            return unexpected(
                "the shortest replay timer must not be negative, and not longer than the first");
        }
    }
    if (continuous && backs_off) return unexpected("a line without pauses does not back off");
    return {};
}

}  // namespace wireproof::flit
