// All settings of a flit link. PCI Express 6 and 7, CXL 3 and the UCIe adapter are one protocol
// with different settings. Settings with "uncertain" are those on which the sources do not agree,
// or say nothing.
#pragma once

#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/proto/flit/wire_format.hpp"

namespace wireproof::flit {

/// Corrections of the rules, which a search of all states has shown to be necessary. Only tests and
/// searches switch one off: then the link may deliver a wrong message or stand still.
struct Mends {
    /// FLIT-22: two invalid flits in a row cause a standard Nak, never a selective one.
    bool standard_after_two_invalid = true;
    /// FLIT-23: after a jump, `explicit_after_jump` payload flits are explicit. Off: one.
    bool explicit_run_after_jump = true;
    /// FLIT-23: an explicit NOP is none of them.
    bool only_payload_counts = true;
    /// FLIT-24: a payload flit that does not follow the last one is explicit.
    bool explicit_after_gap = true;
    /// FLIT-25: the sender has a replay timer.
    bool replay_timer = true;
    /// CXL-13: a half that was used is not used again.
    bool half_used_once = true;
};

struct Config {
    Format format = Format::pcie;
    CrcOrder crc_order = CrcOrder::last_byte_first;  // uncertain
    /// Off: the receiver does not correct errors, and a flit with one wrong byte is invalid.
    bool corrects = true;

    /// On: every poll_transmit gives a flit, a NOP if there is nothing else, as on a real line. The
    /// engine counts flits instead of time. Only for a carrier that has room for one flit at a
    /// time. Off ("on demand"): a NOP leaves only while an Ack, a Nak or an explicit number is
    /// owed, or the peer waits for one more flit. The engine counts time in units of `flit_time`.
    bool continuous = true;
    Duration flit_time = Duration::nanoseconds(2);  // of a flit on the line

    std::uint32_t modulus = 1023;      // of the numbers 1 to modulus; odd
    std::uint32_t first_number = 1;    // of the first payload flit; the same at both ends
    std::uint32_t outstanding = 511;   // unacknowledged payload flits, below half the modulus
    std::uint32_t replay_slots = 512;  // payload flits that wait or are unacknowledged
    /// The caller keeps messages in place until they are acknowledged, so the engine does not copy
    /// them.
    bool payload_lent = false;

    bool selective = false;           // the receiver sends selective Naks
    std::uint32_t store_flits = 511;  // that a selective receiver may store
    /// After an invalid flit the receiver waits for one more, which says whether payload was lost
    /// (WITHDRAW). It needs a carrier that reports each lost flit.
    bool withdraws = true;

    std::uint32_t explicit_run = 3;         // explicit flits in a row, at most
    std::uint32_t nak_run = 3;              // flits in a row that repeat a new Nak
    std::uint32_t explicit_after_jump = 1;  // payload flits; uncertain
    std::uint32_t nak_ignore = 55;       // flits; a Nak of the same number does not count so long
    std::uint32_t timeout_flits = 1500;  // replay timer
    /// A replay without progress after this many retrains the link; 0: never. Uncertain.
    std::uint32_t replay_num_limit = 3;
    Duration retrain_time{};

    /// The start-up handshake. Off: the link is up from the beginning.
    bool starts_up = true;
    std::uint32_t start_explicit = 9;     // explicit flits sent, at least; uncertain
    std::uint32_t start_acks = 3;         // Acks sent, at least; uncertain
    std::uint32_t start_flits_max = 128;  // then the link retrains; uncertain

    // Only on demand.
    std::uint32_t ack_after = 1;      // payload flits; then an Ack is owed at once
    Duration ack_latency{};           // how long an Ack of fewer flits may wait
    std::uint32_t trailing_nops = 1;  // after the last payload flit, for a peer that withdraws
    Duration start_every = Duration::milliseconds(20);  // repeats the handshake
    Duration sign_of_life{};                            // a NOP so often; 0: none
    /// For a path whose round trip is not known: the replay timer falls to three measured round
    /// trips, but not below this value. 0: it does not change.
    Duration replay_floor{};
    /// For a path that is shared with other traffic: replays back off (core/backoff.hpp).
    bool backs_off = false;

    Mends mends{};

    static Config pcie6();            // x16 at 64 GT/s, standard Nak
    static Config pcie6_selective();  // the same, selective Nak
    static Config cxl3();             // 256-byte flits with 240 bytes of data
    static Config cxl3_halves();      // latency-optimised flits: two halves, 236 bytes of data
    static Config ucie_68();
    static Config ucie_256();
    /// Flits of PCI Express in datagrams of at least `frame_max` bytes. It is safe if one report of
    /// a loss stands for several flits: nothing is withdrawn, and Naks are standard.
    static Config of_datagrams(std::size_t frame_max);

    /// The error names a setting that cannot work, in one line.
    Expected<void> check() const;

    std::size_t message_max() const { return Shape::of(format).data_size - length_size; }
    Duration time_of(std::uint32_t flits) const {
        return unit() * static_cast<std::int64_t>(flits);
    }
    /// The unit of the engine's timers. A continuous engine counts flits as picoseconds.
    Duration unit() const { return continuous ? Duration(1) : flit_time; }
};

}  // namespace wireproof::flit
