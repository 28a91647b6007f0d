// All settings of an Ultra Ethernet link with Link Layer Retry (LLR). Names are those of the SAI
// attributes where there is one. What the public sources leave open is a setting here, too
// (docs/rules/ue.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::ue {

/// Where the 20 bits of the number stand in bytes 1 to 3 of the preamble. Not public.
enum class PreambleOrder : std::uint8_t {
    number_first,  // [19:16] and the mark 7, [15:8], [7:0]
    mark_first,    // the mark 7 and [19:16], [15:8], [7:0]
    low_first,     // [3:0] and the mark 7, [11:4], [19:12]
};

/// Which half of byte 4 of a control ordered set has bits [3:0] of the number. Not public.
enum class NibbleOrder : std::uint8_t { number_high, number_low };

/// What happens to a message that the caller submits while the sender is in INIT or FLUSH.
enum class Behavior : std::uint8_t {
    discard,      // it is dropped and counted
    block,        // there is no room: the caller keeps it
    best_effort,  // it leaves as an ineligible frame, which may be lost
};

/// For tests only: a rule that is switched off is a known defect. A search then finds how the link
/// loses frames or stops.
struct Mends {
    bool half_is_duplicate = true;        // LLR-3: a frame half the circle ahead is a duplicate
    bool duplicates_acknowledged = true;  // LLR-7
    bool replay_timer = true;             // LLR-8
    bool init_in_every_state = true;      // LLR-14: INIT counts also while the receiver runs
};

/// A physical line and its cable.
struct LineFigures {
    Duration byte_time;   // 800 Gbit/s: 10 ps
    Duration round_trip;  // propagation both ways, and the answer time of the receiver
};

struct Config {
    static constexpr std::uint32_t numbers = 1U << 20;    // LLR-1
    static constexpr std::uint32_t replay_ct_none = 255;  // LLR-23: no limit

    std::size_t payload_max = 1500;  // the longest message of a frame, bytes
    std::size_t frame_min = 64;      // Ethernet header to FCS; shorter frames are padded
    Duration byte_time{};            // of a byte on the line; 0: frames take no time (datagrams)
    PreambleOrder preamble = PreambleOrder::number_first;
    NibbleOrder ctl_nibbles = NibbleOrder::number_high;
    /// For a carrier whose damage shows only in checks: the FCS covers the preamble too, and a
    /// control ordered set ends with a CRC-32 of its own. Off on a line, whose coding finds a
    /// damaged preamble or control ordered set (LLR-33).
    bool checks_numbers = false;

    std::uint32_t modulus = numbers;  // of frame numbers; even
    std::uint32_t first_number = 0;
    std::uint32_t outstanding_seq_max = 2047;         // frames, at most half the modulus
    std::uint64_t outstanding_data_max = 64'000'000;  // bytes, Ethernet header to FCS
    std::uint32_t replay_slots = 2048;                // frames that wait or are unacknowledged
    std::uint32_t ineligible_slots = 16;              // frames without a number that wait
    // The caller keeps messages in place until they are acknowledged, so the engine does not copy
    // them. Ineligible frames are always copied.
    bool payload_lent = false;

    Duration replay_timer_max = Duration::nanoseconds(65'535);
    /// Replays by the timer without progress, after which the next expiry flushes.
    std::uint32_t replay_ct_max = replay_ct_none;
    bool nack_counts = false;  // replays that a NACK begins count, too
    /// 0: never.
    Duration pcs_lost_status_timer_max = Duration::nanoseconds(4'200'000'000);
    Duration data_age_timer_max = Duration::nanoseconds(4'200'000'000);
    /// For links whose round trip is not known beforehand: after it is measured, the replay timer
    /// falls to three round trips, but not below this value. 0: it does not change.
    Duration replay_floor{};
    /// For a path that is shared with other traffic: while no ACK comes, the replay timer doubles
    /// and a replay shrinks to its first frame (core/backoff.hpp). Off on a line.
    bool backs_off = false;
    /// A duplicate that comes after a NACK draws an ACK, too. If the NACK was lost and replays are
    /// only one frame, the expected frame would never leave again without this ACK.
    bool acks_after_nack = false;

    // The default of SAI is best_effort for both, and no re-initialisation.
    Behavior init_behavior = Behavior::block;
    Behavior flush_behavior = Behavior::block;
    bool re_init_on_flush = true;
    /// A flush in one direction also empties the other, and both ends report that the link was
    /// down. A LinkEngine promises that. False: only the direction that failed begins again, as in
    /// the public sources. INIT then goes down and up at its sender only.
    bool restarts_both_ways = true;
    /// LLR-16. An end that restarts without a word to its peer needs another first value.
    std::uint16_t first_init_data = 1;
    std::uint32_t init_data_values = 65'536;  // then they repeat; 1: always the same

    // Distances on the line in bytes, from begin to begin (LLR-19).
    std::uint32_t ctl_spacing = 400;   // any two control ordered sets
    std::uint32_t ack_spacing = 2048;  // an ACK after the last ACK or NACK
    std::uint32_t init_multiple = 4;   // of ctl_spacing, between two INIT
    /// Two INIT also have this distance in time.
    Duration init_every = Duration::microseconds(10);
    /// A quiet receiver repeats its last ACK this often. 0: never.
    Duration ack_idle{};

    bool missing_once = false;  // RX_MISSING_SEQ counts only the frame that shows the gap
    bool replay_holds_ineligible = false;       // LLR-20
    std::uint32_t poison_pattern = 0xAAAAAAAA;  // LLR-10: xor to the FCS
    /// A poisoned message is delivered, and Link::poisoned tells. False: it is counted only,
    /// because a LinkDelivery has no mark.
    bool delivers_poisoned = false;

    Mends mends = {};

    /// A line with its cable. The window holds what the round trip and the distance of ACKs need,
    /// and the replay timer is longer than a whole window and its answer (LLR-24).
    static Config of_line(const LineFigures& line, std::size_t payload_max = 1500);
    /// The same with the formulas of the Slingshot drivers, from which LLR descends.
    static Config of_slingshot(const LineFigures& line, std::size_t payload_max = 1500);
    /// Frames in datagrams of at most `frame_max` bytes. The timers suit processes, not hardware,
    /// and control ordered sets need no distance.
    static Config of_datagrams(std::size_t frame_max);

    /// The error names a setting that cannot work, in one line.
    Expected<void> check() const;
    /// The same for a setting that is outside the range of its attribute in a device.
    Expected<void> check_attributes() const;

    Duration time_of(std::uint64_t bytes) const {
        return byte_time * static_cast<std::int64_t>(bytes);
    }
    Duration init_interval() const;
    /// Bytes of a frame with this message from the Ethernet header to the FCS.
    std::size_t mac_size(std::size_t message) const;
    /// LLR-21: frames do not become too old before replay_ct_max replays have failed.
    bool reaches_replay_ct() const;
};

}  // namespace wireproof::ue
