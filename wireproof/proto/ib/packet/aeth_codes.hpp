// The meaning of the syndrome in an AETH: an acknowledgement, "receiver not ready", or a refusal.
// The lower five bits hold credits, a waiting time or a reason. IBA volume 1, sections 9.7.5.1 and
// 9.7.5.2.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/base/instant.hpp"

namespace wireproof::proto::ib {

enum class NakCode : std::uint8_t {
    sequence_error = 0,
    invalid_request = 1,
    remote_access = 2,
    remote_operational = 3,
    invalid_rd_request = 4,
};

enum class SyndromeKind : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

/// The credit code for "no limit".
inline constexpr std::uint8_t unlimited_credits = 0x1F;

struct Syndrome {
    std::uint8_t byte = unlimited_credits;

    static constexpr Syndrome ack(std::uint8_t credit_code) { return of(0, credit_code); }
    static constexpr Syndrome rnr_nak(std::uint8_t timer_code) { return of(1, timer_code); }
    static constexpr Syndrome nak(NakCode code) { return of(3, static_cast<std::uint8_t>(code)); }

    /// Bit 7 is reserved. If it is set, the syndrome has no meaning.
    constexpr SyndromeKind kind() const {
        return byte >= 0x80 ? SyndromeKind::reserved : static_cast<SyndromeKind>(byte >> 5);
    }
    /// Credits, timer or reason; kind() says which.
    constexpr std::uint8_t code() const { return byte & 0x1F; }
    /// Empty if the syndrome is not a NAK or has a reserved reason.
    constexpr std::optional<NakCode> nak_code() const {
        if (kind() != SyndromeKind::nak || code() > 4) return std::nullopt;
        return static_cast<NakCode>(code());
    }

    friend constexpr bool operator==(Syndrome, Syndrome) = default;

private:
    static constexpr Syndrome of(unsigned kind, unsigned code) {
        return {static_cast<std::uint8_t>(kind << 5 | (code & 0x1F))};
    }
};

inline constexpr std::array<std::uint32_t, 31> credit_table = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

/// The number of messages that the code grants; empty if there is no limit. The code has five bits.
/// (RC-15)
constexpr std::optional<std::uint32_t> credits_of(std::uint8_t code) {
    if (code >= credit_table.size()) return std::nullopt;
    return credit_table[code];
}

/// The code for the largest grant that is not more than `count` (RC-15).
constexpr std::uint8_t credit_code_of(std::uint32_t count) {
    const auto above = std::upper_bound(credit_table.begin(), credit_table.end(), count);
    return static_cast<std::uint8_t>(above - credit_table.begin() - 1);
}

/// Indexed by timer code. Code 0 is the longest time.
inline constexpr std::array<std::uint32_t, 32> rnr_microseconds = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

/// How long the requester must wait at least after an RNR NAK (RC-7). The code has five bits.
constexpr Duration rnr_wait(std::uint8_t timer_code) {
    return Duration::microseconds(rnr_microseconds[timer_code & 0x1F]);
}

/// "ACK", "RNR NAK", "NAK sequence" and so on. The text is a literal.
constexpr std::string_view name_of(Syndrome syndrome) {
    constexpr std::array<std::string_view, 5> naks = {"NAK sequence", "NAK invalid request",
                                                      "NAK remote access", "NAK remote operational",
                                                      "NAK invalid RD request"};
    switch (syndrome.kind()) {
        case SyndromeKind::ack: return "ACK";
        case SyndromeKind::rnr_nak: return "RNR NAK";
        case SyndromeKind::nak: return syndrome.nak_code() ? naks[syndrome.code()] : "NAK reserved";
        case SyndromeKind::reserved: break;
    }
    return "AETH reserved";
}

}  // namespace wireproof::proto::ib
