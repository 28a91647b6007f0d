// All settings of a CXL link with 68-byte flits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::cxl {

/// Three rules without which the retry is wrong. Tests and searches turn them off.
struct Mends {
    bool keeps_an_entry = true;      // CXL-5: the retry buffer is never filled
    bool compares_num_retry = true;  // CXL-6: a RETRY.Ack of an earlier request is ignored
    bool flushes_acks = true;        // CXL-7: a timer returns the last acknowledgements
};

struct Config {
    static constexpr std::uint32_t unlimited = 0xFFFFFFFF;

    /// True: every call of poll_transmit gives a flit, RETRY.Idle if there is nothing else, as on a
    /// real line. Timers count the flits that this end sends. False: flits leave only on demand,
    /// timers count flit_time, and RETRY.Idle leaves only as a probe (CXL-21).
    bool continuous = false;
    Duration flit_time = Duration::nanoseconds(2);  // the unit of the timers, if not continuous

    // LLRB depth: entries of the retry buffer of this end. Its numbers are modulo this. The
    // specification wants at least 22; here, 4 to 255.
    std::uint32_t modulus = 128;
    std::uint32_t first_number = 0;  // of the first flit; the same at both ends. For tests
    std::uint32_t queue = 64;        // messages that wait for their first transmission

    std::uint32_t max_num_retry = 10;       // MAX_NUM_RETRY, 1 to 31
    std::uint32_t max_num_phy_reinit = 10;  // MAX_NUM_PHY_REINIT; `unlimited`: not counted
    std::uint32_t timeout = 4096;           // TIMEOUT, flits
    std::uint32_t frames = 5;               // RETRY.Frame before each RETRY.Req and RETRY.Ack
    std::uint32_t frames_needed = 5;        // that must arrive together with it, 1 to `frames`

    std::uint32_t ack_threshold = 16;  // an LLCRD leaves when so many acknowledgements are owed
    std::uint32_t ack_flush = 64;      // flits after which the last ones leave in an LLCRD
    // Flits without an acknowledgement until a probe leaves, if not continuous. 0: no probes, for a
    // line that loses nothing in silence.
    std::uint32_t probe_after = 512;
    std::uint32_t train_every = 256;       // flits after which a training set is repeated, likewise
    std::uint32_t training_numbers = 256;  // trainings are numbered modulo this; 3 to 256
    Duration retrain_time{};               // in PHY_REINIT nothing leaves for so long

    /// For a path that is shared with other traffic: without an answer, TIMEOUT and the wait for a
    /// probe double up to 100 ms (core/backoff.hpp). Off on a link.
    bool backs_off = false;

    Mends mends;

    /// Flits in datagrams between processes. The wire must report each missing datagram as a
    /// damaged frame.
    static Config of_datagrams();

    /// The error names a setting that cannot work, in one line.
    Expected<void> check() const;
};

}  // namespace wireproof::cxl
