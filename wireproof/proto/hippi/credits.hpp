// Credits of the four virtual channels, in both directions. One credit is room at the peer for one
// micropacket of its channel. A return of credits is an increment. So only numbered units carry it,
// and the receiver applies it once, when it accepts the unit in order (docs/rules/hippi.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/hippi/config.hpp"

namespace wireproof::hippi {

class Credits {
public:
    struct Return {
        std::uint8_t channel = 0;
        std::uint8_t count = 0;
    };

    explicit Credits(const Config& config) : buffers_(config.buffers) {}

    /// Starts a new life: the sender has the credits that the peer advertised, and all buffers here
    /// are free.
    void reset(const std::array<std::uint16_t, channel_count>& advertised) {
        advertised_ = available_ = advertised;
        owed_.fill(0);
    }

    bool available(std::size_t channel) const { return available_[channel] > 0; }
    void consume(std::size_t channel) {
        if (available_[channel] != Config::unlimited) --available_[channel];
    }

    /// Applies the return in a unit that was accepted in order (HIPPI-24). False: it exceeds the
    /// credits in use; the surplus is ignored.
    [[nodiscard]] bool on_return(Return credits) {
        std::uint16_t& available = available_[credits.channel];
        const std::uint16_t most = advertised_[credits.channel];
        const bool possible = credits.count <= most - available;
        available = static_cast<std::uint16_t>(possible ? available + credits.count : most);
        return possible;
    }

    /// Counts the buffer of a received unit. It is free again as soon as its data are in the
    /// message. False: the peer had no credit for the unit.
    [[nodiscard]] bool on_unit(std::size_t channel) {
        if (buffers_[channel] == Config::unlimited) return true;
        if (owed_[channel] == buffers_[channel]) return false;
        ++owed_[channel];
        return true;
    }

    /// True: half of a channel's buffers wait to be returned, so a credit-only unit must leave
    /// (HIPPI-34). The peer has credit for the other half, so it never waits for credits that do
    /// not come.
    bool return_due() const {
        for (std::size_t i = 0; i < channel_count; ++i) {
            if (owed_[i] > 0 && owed_[i] >= buffers_[i] / 2) return true;
        }
        return false;
    }

    /// The largest return that one unit can carry. If nothing is owed: zero credits of channel 0.
    Return take_return() {
        const auto most = std::max_element(owed_.begin(), owed_.end());
        if (*most == 0) return {};
        Return credits;
        credits.channel = static_cast<std::uint8_t>(most - owed_.begin());
        credits.count = static_cast<std::uint8_t>(std::min<std::uint16_t>(*most, credits_max));
        *most = static_cast<std::uint16_t>(*most - credits.count);
        return credits;
    }

    std::uint16_t held(std::size_t channel) const { return available_[channel]; }
    std::uint16_t owed(std::size_t channel) const { return owed_[channel]; }

    void fingerprint(Fingerprint& sink) const {
        for (std::size_t i = 0; i < channel_count; ++i) {
            sink.add(advertised_[i]);
            sink.add(available_[i]);
            sink.add(owed_[i]);
        }
    }

private:
    std::array<std::uint16_t, channel_count> buffers_;
    std::array<std::uint16_t, channel_count> advertised_{};  // by the peer
    std::array<std::uint16_t, channel_count> available_{};   // for sending
    std::array<std::uint16_t, channel_count> owed_{};  // free buffers that were not returned yet
};

}  // namespace wireproof::hippi
