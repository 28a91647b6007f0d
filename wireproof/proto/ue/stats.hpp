// The counters of a link, with the names of SAI (its prefix is SAI_PORT_STAT_LLR_).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wireproof/core/link_engine.hpp"

namespace wireproof::ue {

/// LLR-27. The counters of each link, and those of LLR.
struct Stats : LinkStats {
    std::uint64_t tx_init_ctl_os = 0;
    std::uint64_t tx_init_echo_ctl_os = 0;
    std::uint64_t tx_ack_ctl_os = 0;
    std::uint64_t tx_nack_ctl_os = 0;
    std::uint64_t tx_discard = 0;   // frames in the replay buffer that a flush threw away
    std::uint64_t tx_ok = 0;        // good eligible frames, replays included
    std::uint64_t tx_poisoned = 0;  // the same for poisoned ones
    std::uint64_t tx_replay = 0;    // replays that ended

    std::uint64_t rx_init_ctl_os = 0;
    std::uint64_t rx_init_echo_ctl_os = 0;
    std::uint64_t rx_ack_ctl_os = 0;
    std::uint64_t rx_nack_ctl_os = 0;
    std::uint64_t rx_ack_nack_seq_error = 0;  // LLR-4
    std::uint64_t rx_ok = 0;                  // eligible frames by their FCS
    std::uint64_t rx_poisoned = 0;
    std::uint64_t rx_bad = 0;
    std::uint64_t rx_expected_seq_good = 0;  // eligible frames by their number
    std::uint64_t rx_expected_seq_poisoned = 0;
    std::uint64_t rx_expected_seq_bad = 0;
    std::uint64_t rx_missing_seq = 0;
    std::uint64_t rx_duplicate_seq = 0;
    std::uint64_t rx_replay = 0;  // expected frames that ended NACK_SENT

    // These are not of SAI.
    std::uint64_t replayed_bytes = 0;  // Ethernet header to FCS
    std::uint64_t init_echo_mismatch = 0;
    std::uint64_t flushes = 0;
    std::uint64_t waiting_discarded = 0;  // frames that a flush threw away before their first time
    std::uint64_t offers_discarded = 0;   // messages that init_behavior or flush_behavior dropped
    std::uint64_t tx_ineligible = 0;
    std::uint64_t rx_ineligible = 0;
    std::uint64_t rx_ineligible_bad = 0;
    std::uint64_t bad_ctl_os = 0;

    friend bool operator==(const Stats&, const Stats&) = default;
};

struct NamedCounter {
    std::string_view name;
    std::uint64_t Stats::*value;
};

inline constexpr std::string_view sai_prefix = "SAI_PORT_STAT_LLR_";

/// All counters of SAI, in its order and by its names without the prefix. LLR-35: a published test
/// plan states their values.
inline constexpr std::array<NamedCounter, 22> sai_counters{{
    {"TX_INIT_CTL_OS", &Stats::tx_init_ctl_os},
    {"TX_INIT_ECHO_CTL_OS", &Stats::tx_init_echo_ctl_os},
    {"TX_ACK_CTL_OS", &Stats::tx_ack_ctl_os},
    {"TX_NACK_CTL_OS", &Stats::tx_nack_ctl_os},
    {"TX_DISCARD", &Stats::tx_discard},
    {"TX_OK", &Stats::tx_ok},
    {"TX_POISONED", &Stats::tx_poisoned},
    {"TX_REPLAY", &Stats::tx_replay},
    {"RX_INIT_CTL_OS", &Stats::rx_init_ctl_os},
    {"RX_INIT_ECHO_CTL_OS", &Stats::rx_init_echo_ctl_os},
    {"RX_ACK_CTL_OS", &Stats::rx_ack_ctl_os},
    {"RX_NACK_CTL_OS", &Stats::rx_nack_ctl_os},
    {"RX_ACK_NACK_SEQ_ERROR", &Stats::rx_ack_nack_seq_error},
    {"RX_OK", &Stats::rx_ok},
    {"RX_POISONED", &Stats::rx_poisoned},
    {"RX_BAD", &Stats::rx_bad},
    {"RX_EXPECTED_SEQ_GOOD", &Stats::rx_expected_seq_good},
    {"RX_EXPECTED_SEQ_POISONED", &Stats::rx_expected_seq_poisoned},
    {"RX_EXPECTED_SEQ_BAD", &Stats::rx_expected_seq_bad},
    {"RX_MISSING_SEQ", &Stats::rx_missing_seq},
    {"RX_DUPLICATE_SEQ", &Stats::rx_duplicate_seq},
    {"RX_REPLAY", &Stats::rx_replay},
}};

}  // namespace wireproof::ue
