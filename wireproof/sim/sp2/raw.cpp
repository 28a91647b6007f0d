// The first part of each run fills the pipeline and is not counted.
#include "wireproof/sim/sp2/raw.hpp"

#include <cstdint>

#include "wireproof/base/check.hpp"
#include "wireproof/sim/run.hpp"
#include "wireproof/sim/sp2/machine.hpp"

namespace wireproof::sp2 {
namespace {

constexpr std::size_t word_packet = header_size + 4;

bool send_packet(Adapter& adapter, std::uint16_t to, std::size_t size) {
    AdapterLane& lane = adapter.lane(PeerId{to});
    TxFrame* room = lane.claim();
    if (room == nullptr) return false;
    room->add_room(size);
    lane.commit();
    return true;
}

}  // namespace

Duration raw_round_trip(const Costs& costs) {
    constexpr std::int64_t ignored = 100;
    constexpr std::int64_t counted = 1000;
    Machine machine(Config{.costs = costs});
    sim::Schedule schedule(2);
    std::int64_t round_trips = 0;
    Instant begin;
    const auto send_word = [&](std::size_t node) {
        WIREPROOF_CHECK(send_packet(machine.wire(node), node == 0 ? 1 : 0, word_packet));
        machine.wire(node).flush(machine.host(node).now());
    };
    send_word(0);
    const auto step = [&](std::size_t node, Instant now) {
        if (machine.wire(node).receive(now)) {
            if (node == 0 && ++round_trips == ignored) begin = machine.host(0).now();
            send_word(node);
            // The node goes on polling, so it returns entries while it waits for the answer.
            WIREPROOF_CHECK(!machine.wire(node).receive(now));
        }
        return never;
    };
    sim::run(machine, schedule, step, [&] { return round_trips == ignored + counted; });
    return Duration((machine.host(0).now() - begin).picoseconds() / counted);
}

double raw_bandwidth(const Costs& costs) {
    constexpr int ignored = 1000;
    constexpr int counted = 10'000;
    Machine machine(Config{.costs = costs});
    sim::Schedule schedule(2);
    int received = 0;
    Instant begin;
    const auto send_some = [&](Instant now) {
        Adapter& adapter = machine.wire(0);
        // Short turns, so that neither node gets far ahead of the other.
        bool room = true;
        for (int i = 0; i < 4 && room; ++i) room = send_packet(adapter, 1, entry_size);
        adapter.flush(now);
        return room ? machine.host(0).now() : never;
    };
    const auto step = [&](std::size_t node, Instant now) {
        if (node == 0) return send_some(now);
        if (machine.wire(1).receive(now) && ++received == ignored) begin = machine.host(1).now();
        return never;
    };
    sim::run(machine, schedule, step, [&] { return received == ignored + counted; });
    const Duration taken = machine.host(1).now() - begin;
    return counted * static_cast<double>(entry_size - header_size) / taken.seconds();
}

}  // namespace wireproof::sp2
