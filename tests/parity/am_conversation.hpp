// Two SP AM engines on a road. The pump of core moves their frames. The log of each end has what
// the end received.
#pragma once

#include <chrono>

#include "tests/parity/roads.hpp"

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::parity {

using am::test::Log;

/// Engines of `config`, with memory and handlers on both sides. A request gets a reply with the
/// same words for handler 2. A request for a handler above 9 is refused. A store gets a reply for
/// handler 3.
template <class Road>
class Conversation {
public:
    Conversation(const am::Config& config, const RoadFaults& faults = {})
        : ends{End(config), End(mirrored(config))}, road(faults) {
        // The addresses of the ends are known only now.
        for (End& end : ends) {
            end.engine.bind(end.table);
            WIREPROOF_CHECK(end.table.add(base, end.memory, {.read = true, .write = true}));
        }
    }

    struct End {
        explicit End(const am::Config& config) : engine(config, table), memory(memory_size) {}

        am::MemoryTable table;
        am::test::Twin engine;
        std::vector<std::byte> memory;
        Log log = {};
    };

    static constexpr std::uint64_t base = 0x1000;
    static constexpr std::size_t memory_size = 100'000;

    void turn(std::size_t node) {
        End& end = ends[node];
        pump(end.engine, road.wire(node), road.peer(node), road.now(),
             [&](const am::Delivery& delivery) { take(end, delivery); });
    }

    /// Turns both nodes until `done` returns true. Returns false if this takes too long.
    template <class Done>
    [[nodiscard]] bool run(Done&& done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(4);  // it hangs
        for (int turns = 0; turns < 2'000'000; ++turns) {
            if (done()) return true;
            if (std::chrono::steady_clock::now() > end) return false;
            for (std::size_t node = 0; node < 2; ++node) {
                turn(node);
                road.rest();
            }
        }
        return false;
    }

    /// Turns both nodes until each frame that was sent has arrived and no node has more to send.
    /// For roads without faults.
    [[nodiscard]] bool settle() {
        std::uint64_t before = ~std::uint64_t{0};
        return run([&] {
            const std::uint64_t now = sent(0) + sent(1);
            const bool quiet = now == before && sent(0) == received(1) && sent(1) == received(0);
            before = now;
            return quiet;
        });
    }

    std::uint64_t sent(std::size_t node) const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : ends[node].engine.stats().sent) sum += count;
        return sum;
    }
    std::uint64_t received(std::size_t node) const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : ends[node].engine.stats().received) sum += count;
        return sum;
    }
    std::uint64_t received_as(std::size_t node, RxVerdict verdict) const {
        return ends[node].engine.stats().received_as(verdict);
    }

    bool idle() const { return ends[0].engine.idle() && ends[1].engine.idle(); }

    am::PostStatus request(std::size_t node, std::uint16_t handler,
                           const std::vector<std::uint32_t>& words) {
        return ends[node].engine.request(am::HandlerId(handler), am::test::words(words));
    }

    std::array<End, 2> ends;
    Road road;

private:
    static am::Config mirrored(am::Config config) {
        std::swap(config.node, config.peer);
        config.seed += 1000;
        return config;
    }

    void take(End& end, const am::Delivery& delivery) {
        end.log.push_back(am::test::text(delivery));
        if (const auto* request = std::get_if<am::Request>(&delivery)) {
            const bool known = request->handler <= am::HandlerId(9);
            EXPECT_EQ(known ? end.engine.reply(am::HandlerId(2), request->arguments)
                            : end.engine.refuse(request->handler),
                      am::PostStatus::accepted);
        } else if (std::holds_alternative<am::Stored>(delivery)) {
            EXPECT_EQ(end.engine.reply(am::HandlerId(3), {}), am::PostStatus::accepted);
        }
    }
};

/// A configuration with small chunks and with numbers that wrap in the test.
inline am::Config small(am::Config config) {
    config.chunk_packets = 8;
    config.chunks_in_flight = config.ack_chunks = 2;
    config.window = {24, 25};
    config.held_packets = config.recovery == am::Recovery::selective ? 24 : 0;
    config.first_number = {static_cast<std::uint32_t>(config.modulus - 3),
                           static_cast<std::uint32_t>(config.modulus - 4)};
    WIREPROOF_CHECK(config.check().has_value());
    return config;
}

}  // namespace wireproof::parity
