// SP AM as an end of a point. A unit is a request. Only lengths matter here, so a request carries
// one word that stands for its payload, and the line adds the rest of the length.
#pragma once

#include "wireproof/lab/link_retry/retry_ends.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::lab {

template <am::Recovery recovery>
struct AmRetryEnd {
    static constexpr bool selective = recovery == am::Recovery::selective;
    static constexpr am::Layout layout = selective ? am::Layout::ethernet : am::Layout::sp2;
    static constexpr std::size_t shown = 4;  // bytes of payload in a frame
    static constexpr std::size_t own_max = selective ? 384 : 128;
    static constexpr RetryOrder order = selective ? RetryOrder::any : RetryOrder::oldest;

    am::Connection engine;

    void feed() {
        constexpr std::array<std::byte, shown> word{};
        if (sending().waiting() == 0) (void)engine.request(am::HandlerId{1}, word);
    }
    LinkStats stats() const {
        const am::Stats& all = engine.stats();
        return {.received = all.received,
                .numbered = numbered(),
                .resent = all.resent,
                .acks = all.sent_of(am::Kind::ack),
                .naks = all.sent_of(am::Kind::nack),
                .upkeep = all.sent_of(am::Kind::keepalive),
                .replays = all.nacks_acted_on,
                .timeouts = all.keepalive_timeouts,
                .resets = 0};
    }
    std::uint64_t numbered() const { return engine.stats().sent_of(am::Kind::request); }
    bool up() const { return engine.established(); }
    bool quiet() const { return engine.quiet(); }
    std::size_t kept() const { return sending().under_way(); }
    /// The number of all sequence numbers. Each recovery changes the round and the phase of the
    /// acknowledgements, so states rarely repeat, and frequent looks for known states do not pay.
    std::uint64_t stride() const { return engine.config().modulus; }
    /// The index of the request in the frame of the peer. It is less than the modulus ahead of the
    /// oldest request that is not settled.
    std::uint64_t index_of(ConstBytes frame, std::uint64_t settled) const {
        const am::Config& config = engine.config();
        const std::uint64_t first = config.first_number[0];
        const std::uint64_t here = am::decode(layout, frame).value().number;
        const std::uint64_t oldest = (first + settled) % config.modulus;
        return settled + (here + config.modulus - oldest) % config.modulus;
    }

    static FrameInfo describe(ConstBytes frame) { return am::describe_of(layout)(frame); }
    static bool is_notice(ConstBytes frame) {
        const auto header = am::decode(layout, frame);
        return header && header->kind == am::Kind::nack;
    }

private:
    const am::SendWindow& sending() const { return engine.sending(am::Channel::request); }

public:
    AmRetryEnd(const am::Config& config, const am::MemoryTable& memory) : engine(config, memory) {}
};

using AmGoBackNEnd = AmRetryEnd<am::Recovery::go_back_n>;
using AmSelectiveEnd = AmRetryEnd<am::Recovery::selective>;

static_assert(RetryEnd<AmGoBackNEnd>);
static_assert(RetryEnd<AmSelectiveEnd>);

}  // namespace wireproof::lab
