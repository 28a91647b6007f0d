// Common parts of the simulated tests of SP AM: nodes that follow the functions of a test, and the
// simulated machine for which the bounds of AM-53 and other costs were found.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "wireproof/lab/common/am_net.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof {

inline constexpr am::HandlerId plain_handler{1};     // of a request without a reply
inline constexpr am::HandlerId answered_handler{2};  // of a request with a reply
inline constexpr am::HandlerId reply_handler{3};
inline constexpr am::HandlerId store_handler{4};

/// Replies to requests for `answered_handler`. The test does everything else.
class Script final : public lab::AmUser {
public:
    explicit Script(lab::AmNet& net) : net_(&net), counts(net.nodes()) {}

    struct Counts {
        std::size_t requests = 0;  // that arrived here
        std::size_t replies = 0;
        std::size_t stored = 0;
        std::size_t stores_ended = 0;
        std::size_t gets_ended = 0;
        std::size_t unknown = 0;  // messages whose fate is unknown
        std::size_t sessions_begun = 0;
        std::size_t sessions_ended = 0;
        am::SessionEnded::Why why{};
        Instant last;  // delivery
    };

    Instant on_turn(std::size_t node, Instant now) override {
        return turn ? turn(node, now) : never;
    }

    void on_delivery(std::size_t node, std::size_t peer, Instant now,
                     const am::Delivery& delivery) override {
        Counts& count = counts[node];
        count.last = now;
        if (const auto* request = std::get_if<am::Request>(&delivery)) {
            ++count.requests;
            if (request->handler == answered_handler) {
                (void)net_->at(node, peer).reply(reply_handler, request->arguments);
            }
        }
        if (std::holds_alternative<am::Reply>(delivery)) ++count.replies;
        if (std::holds_alternative<am::Stored>(delivery)) ++count.stored;
        if (std::holds_alternative<am::StoreEnded>(delivery)) ++count.stores_ended;
        if (std::holds_alternative<am::GetEnded>(delivery)) ++count.gets_ended;
        if (std::holds_alternative<am::FateUnknown>(delivery)) ++count.unknown;
        if (std::holds_alternative<am::SessionBegan>(delivery)) ++count.sessions_begun;
        if (const auto* ended = std::get_if<am::SessionEnded>(&delivery)) {
            ++count.sessions_ended;
            count.why = ended->why;
        }
        if (delivered) delivered(node, peer, delivery);
    }

    void on_departure(std::size_t node, std::size_t peer, const TxFrame& frame,
                      ConstBytes start) override {
        if (!departed) return;
        const auto header = am::decode(net_->at(node, peer).config().layout, start);
        if (header) departed(node, peer, *header, frame);
    }

private:
    lab::AmNet* net_;

public:
    std::function<Instant(std::size_t node, Instant now)> turn;
    std::function<void(std::size_t node, std::size_t peer, const am::Delivery&)> delivered;
    std::function<void(std::size_t node, std::size_t peer, const am::Header&, const TxFrame&)>
        departed;
    std::vector<Counts> counts;
};

/// The link takes one packet of 256 bytes in a microsecond, and a round trip takes as long as about
/// 20 packets. The model that gave the bounds of AM-53 has the same values.
inline sim::NetworkConfig model_network(std::size_t nodes = 2) {
    return {.nodes = nodes,
            .frame_max = 256,
            .bytes_per_second = 256'000'000,
            .latency = Duration::microseconds(9),
            .hold_limit = Duration::microseconds(20),
            .in_flight_max = 12,
            .seed = 7};
}

inline am::Config model_config() {
    am::Config config = am::Config::sp2();
    config.keepalive_after = Duration::microseconds(200);
    config.keepalive_max = Duration::microseconds(3200);
    config.keepalive_limit = 64;
    config.cookie = 1;
    return config;
}

inline std::array<std::byte, 16> words_of(std::uint64_t number) {
    std::array<std::byte, 16> words{};
    store_le_at<std::uint64_t, 0>(std::span<std::byte, 16>(words), number);
    return words;
}

/// Posts requests until the window is full or none is left.
inline void post_requests(am::Connection& connection, am::HandlerId handler, std::size_t& left) {
    while (left > 0 && connection.request(handler, words_of(left)) == am::PostStatus::accepted) {
        --left;
    }
}

inline double cost_of(const am::Stats& stats) {
    std::uint64_t sends = 0;
    for (std::size_t kind = 0; kind < stats.sent.size(); ++kind) {
        if (am::is_numbered(static_cast<am::Kind>(kind))) sends += stats.sent[kind];
    }
    return static_cast<double>(sends) / static_cast<double>(sends - stats.resent);
}

}  // namespace wireproof
