#include <functional>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/app/transfer/carry_side.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::app {
namespace {

constexpr Duration one_way = Duration::microseconds(20);

void add_simulated_counts(const sim::CableCounts& cable, SideCounts& side) {
    side.frames = cable.frames;
    side.bytes = cable.bytes;
    side.resent = cable.resent;
    side.lost = cable.lost;
    side.damaged = cable.damaged;
    side.duplicated = cable.duplicated;
}

}  // namespace

CarryResult carry_on_sim(const CarryOptions& options, const InputFile& file) {
    OutputFile out(options.out);
    sim::NetworkConfig config;
    config.frame_max = datagram_max(options);
    config.bytes_per_second = static_cast<std::uint64_t>(am::PathFigures().bytes_per_second);
    config.latency = one_way;
    config.faults = options.faults;
    config.flip_bits = options.faults.bit_error > 0;  // checksums must detect the errors
    config.seed = options.seed;
    sim::Network network(config);
    const auto wire = [&](std::size_t node) { return host::AnyWire(std::ref(network.wire(node))); };
    const auto sender = make_sending_side(options, wire(0), file);
    const auto receiver = make_receiving_side(options, wire(1), out);

    Progress progress("carrying", file.size(), "B");
    const auto step = [&](std::size_t node, Instant now) {
        check_interrupt();
        CarrySide& turned = node == 0 ? *sender : *receiver;
        turned.poll(now);
        turned.step(now);
        if (node == 0) progress.show(sender->bytes_taken());
        turned.poll(now);  // sends what the step posted
        return turned.next_deadline();
    };
    sim::Schedule schedule(2);
    const auto done = [&] {
        return sender->end().has_value() && sender->may_leave(schedule.now());
    };
    sim::run(network, schedule, step, done);

    CarryResult result;
    result.protocol = options.protocol;
    result.wire = options.wire;
    result.bytes = sender->bytes_taken();
    result.seconds = sender->duration().seconds();
    if (sender->end()) {
        result.verified = sender->end()->verified;
        result.messages = sender->messages();
        result.complete = result.verified && receiver->end() && receiver->end()->verified &&
                          (!result.messages || result.messages->abandoned() == 0);
        result.failure = sender->end()->failure;
    } else {
        result.failure = "the simulated world stopped before the file had arrived";
    }
    result.sender = sender->engine_counts();
    result.receiver = receiver->engine_counts();
    add_simulated_counts(network.counts(0, 1), result.sender);
    add_simulated_counts(network.counts(1, 0), result.receiver);
    return result;
}

}  // namespace wireproof::app
