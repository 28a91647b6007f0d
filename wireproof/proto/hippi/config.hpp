// Every figure of a HIPPI-6400 link in one place. The machine room's cable and today's datagrams
// run the same engine with other figures.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/proto/hippi/wire_format.hpp"

namespace wireproof::hippi {

/// What a receiver owes for a whole unit that it surely has already (docs/rules/hippi.md).
enum class Duplicates : std::uint8_t {
    status_null,  // an acknowledgement that is never taken for a negative one
    literal,  // the expected number, as for a bad unit: the comparison paper's rule; may livelock
    re_arm,   // the same, and again for each repeat of the last unit: echoes
};

struct LinkFigures {
    Duration micropacket = Duration::nanoseconds(40);  // one on the link: 32 bytes at 6400 Mbit/s
    Duration one_way = Duration::nanoseconds(400);  // from leaving to judged, micropacket included
};

struct Config {
    /// As retries_max: the link is never given up, and timeouts are not counted.
    static constexpr std::uint32_t retries_unlimited = 0xFFFFFFFF;

    std::uint32_t modulus = 255;     // of numbers; 255 on the wire is "none" whatever it is
    std::uint32_t w_max = 127;       // units outstanding; 254 as in the comparison paper
    std::uint32_t first_number = 0;  // of every life of the link
    Duplicates duplicates = Duplicates::status_null;
    bool rseq_any_good = false;      // take RSEQ from whole units out of order too
    bool guard = true;               // one replay for two copies of a notice
    std::uint32_t retries_max = 16;  // R_max: timeouts without progress before a reset

    Duration null_after = Duration::nanoseconds(320);     // T_null
    Duration retry_after = Duration::nanoseconds(3'680);  // the sender's timer
    /// Where the loop is not known beforehand: once it is measured, the timer falls to three loops,
    /// but not below this. 0: it stays what it is.
    Duration retry_floor{};
    /// On a path shared with others: the timer doubles and a replay shrinks to its first unit while
    /// no number comes back (core/backoff.hpp). Off on a link.
    bool backs_off = false;
    Duration loop = Duration::nanoseconds(920);               // out, and the answer back: the guard
    Duration start_again_after = Duration::microseconds(10);  // T_init

    /// Micropackets, advertised as credit. Half are returned late (credits.hpp), so a window and 63
    /// must fit in the other half, or a long link waits for credit. `unlimited`: of that channel no
    /// credit is taken, kept or returned.
    static constexpr std::uint16_t unlimited = 0xFFFF;
    std::array<std::uint16_t, channel_count> buffers{512, 512, 512, 512};
    std::size_t message_max = std::size_t{64} * 1024;  // bytes, on every channel
    std::uint32_t messages_queued = 8;                 // waiting to be cut, on every channel
    bool lent = false;           // messages stay where they are until acknowledged; else copied
    bool check_messages = true;  // compute and check ECRC
    std::uint64_t seed = 1;      // of epochs; the two ends need different ones

    /// T_null, timer, guard and T_init for a link (docs/rules/hippi.md).
    void set_times(const LinkFigures& link);
    static Config for_link(const LinkFigures& link);
    /// Micropackets in datagrams between processes: notices leave at once, timers wait for hosts.
    static Config of_datagrams();

    /// What cannot work, in one line. Fronts call it; searches build engines without.
    Expected<void> check() const;

    /// How far behind the expected number a number can only be a duplicate. Whatever is ahead is
    /// less than w_max ahead, so it seems modulus - w_max + 1 or more behind. 127 of 255 by
    /// default, 1 with w_max 254.
    std::uint32_t surely_behind() const;

    /// A digest of all that both ends must have in common; INIT carries it.
    std::uint64_t terms() const;
};

}  // namespace wireproof::hippi
