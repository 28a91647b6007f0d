// Credits of the four virtual channels, both ways. One credit is room for one micropacket of its
// channel over there. What is returned is an increment, so it rides on numbered units alone and is
// applied when one is accepted in order: once (docs/rules/hippi.md).
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

    /// A new life: what the peer advertised may be sent, and all our buffers are free.
    void reset(const std::array<std::uint16_t, channel_count>& advertised) {
        advertised_ = available_ = advertised;
        owed_.fill(0);
    }

    bool available(std::size_t channel) const { return available_[channel] > 0; }
    void consume(std::size_t channel) {
        if (available_[channel] != Config::unlimited) --available_[channel];
    }

    /// From a unit accepted in order (HIPPI-24). False: more than was ever out; the surplus is not
    /// believed.
    [[nodiscard]] bool on_return(Return credits) {
        std::uint16_t& available = available_[credits.channel];
        const std::uint16_t most = advertised_[credits.channel];
        const bool possible = credits.count <= most - available;
        available = static_cast<std::uint16_t>(possible ? available + credits.count : most);
        return possible;
    }

    /// A unit takes a buffer, which is empty again once its data are in the message. False: the
    /// peer had no credit for it.
    [[nodiscard]] bool on_unit(std::size_t channel) {
        if (buffers_[channel] == Config::unlimited) return true;
        if (owed_[channel] == buffers_[channel]) return false;
        ++owed_[channel];
        return true;
    }

    /// Worth a unit of its own (HIPPI-34): half of a channel's buffers wait to be returned. The
    /// peer holds the other half, so it never waits for what would never come.
    bool return_due() const {
        for (std::size_t i = 0; i < channel_count; ++i) {
            if (owed_[i] > 0 && owed_[i] >= buffers_[i] / 2) return true;
        }
        return false;
    }

    /// The most that one unit can carry back; nothing owed: zero credits of channel 0.
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
    std::array<std::uint16_t, channel_count> available_{};   // to us, for sending
    std::array<std::uint16_t, channel_count> owed_{};        // buffers emptied, not yet returned
};

}  // namespace wireproof::hippi
