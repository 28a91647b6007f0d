// All settings of a HIPPI-6400 link. The engine is the same for a cable in a machine room and for
// datagrams; only the settings differ.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/proto/hippi/wire_format.hpp"

namespace wireproof::hippi {

/// What a receiver sends after an undamaged unit that it certainly has already
/// (docs/rules/hippi.md).
enum class Duplicates : std::uint8_t {
    status_null,  // an acknowledgement that is never taken for a notice
    // The expected number, as for a bad unit. This is the rule of the comparison paper; it may
    // livelock.
    literal,
    re_arm,  // like literal, and again for each repeat of the last unit; it may echo
};

struct LinkFigures {
    // The time of one micropacket on the link: 32 bytes at 6400 Mbit/s.
    Duration micropacket = Duration::nanoseconds(40);
    // From the start of sending to the check at the receiver, with the time of the micropacket.
    Duration one_way = Duration::nanoseconds(400);
};

struct Config {
    /// A value of retries_max: the sender never gives the link up, and does not count timeouts.
    static constexpr std::uint32_t retries_unlimited = 0xFFFFFFFF;

    std::uint32_t modulus = 255;     // of numbers; 255 on the wire always means "none"
    std::uint32_t w_max = 127;       // units outstanding; the comparison paper has 254
    std::uint32_t first_number = 0;  // the first number in each life of the link
    Duplicates duplicates = Duplicates::status_null;
    bool rseq_any_good = false;      // use RSEQ of undamaged units out of order, too
    bool guard = true;               // two copies of a notice cause one replay
    std::uint32_t retries_max = 16;  // R_max: timeouts without progress before a reset

    Duration null_after = Duration::nanoseconds(320);     // T_null
    Duration retry_after = Duration::nanoseconds(3'680);  // the sender's timer
    /// For links whose loop is not known beforehand: after it is measured, the timer falls to three
    /// loops, but not below this value. 0: the timer does not change.
    Duration retry_floor{};
    /// For a path that is shared with other traffic: while no new number comes back, the timer
    /// doubles and a replay shrinks to its first unit (core/backoff.hpp). Off on a link.
    bool backs_off = false;
    Duration loop = Duration::nanoseconds(920);  // a round trip; the guard lasts as long
    Duration start_again_after = Duration::microseconds(10);  // T_init

    /// Buffers for micropackets, which the receiver advertises as credit. Half of the credits may
    /// return late (credits.hpp). A window and 63 more must therefore fit into the other half, or a
    /// long link waits for credit. `unlimited`: no credit is needed, counted or returned on this
    /// channel.
    static constexpr std::uint16_t unlimited = 0xFFFF;
    std::array<std::uint16_t, channel_count> buffers{512, 512, 512, 512};
    std::size_t message_max = std::size_t{64} * 1024;  // bytes, on each channel
    std::uint32_t messages_queued = 8;  // messages that wait to be cut, on each channel
    // The caller keeps messages in place until they are acknowledged. Else the engine copies them.
    bool lent = false;
    bool check_messages = true;  // compute and check ECRC
    std::uint64_t seed = 1;      // for the epochs; both ends need different seeds

    /// Computes T_null, timer, guard and T_init for a link (docs/rules/hippi.md).
    void set_times(const LinkFigures& link);
    static Config for_link(const LinkFigures& link);
    /// Micropackets in datagrams between processes: notices leave at once, and timers allow for
    /// delays of hosts.
    static Config of_datagrams();

    /// The error names a setting that cannot work, in one line. Fronts call this. Searches build
    /// engines without it.
    Expected<void> check() const;

    /// A number that is at most this far behind the expected one can only be a duplicate. Units
    /// that may be ahead are less than w_max ahead, so they seem to be modulus - w_max + 1 or more
    /// behind. The default is 127 of 255. With w_max 254 it is 1.
    std::uint32_t surely_behind() const;

    /// A digest of all settings that both ends must have in common. INIT carries it.
    std::uint64_t terms() const;
};

}  // namespace wireproof::hippi
