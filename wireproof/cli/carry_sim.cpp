#include <functional>

#include "wireproof/cli/carry_run.hpp"
#include "wireproof/cli/file_transfer.hpp"
#include "wireproof/cli/interrupt.hpp"
#include "wireproof/cli/progress.hpp"
#include "wireproof/proto/am/wire_format.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::cli {
namespace {

constexpr Duration one_way = Duration::microseconds(20);

void add_wire_counts(const sim::CableCounts& cable, SideCounts& side) {
    side.frames = cable.frames;
    side.bytes = cable.bytes;
    side.lost = cable.lost;
    side.damaged = cable.damaged;
    side.duplicated = cable.duplicated;
}

}  // namespace

CarryResult carry_on_sim(const CarryOptions& options, const InputFile& file) {
    OutputFile out(options.out);
    sim::NetworkConfig config;
    config.frame_max = carry_config(options, 0).packet_max;
    config.bytes_per_second = static_cast<std::uint64_t>(am::PathFigures().bytes_per_second);
    config.latency = one_way;
    config.faults = options.faults;
    config.flip_bits = options.faults.bit_error > 0;  // so that checksums have to find it
    config.seed = options.seed;
    config.describe = am::describe_ethernet;
    sim::Network network(config);
    am::Node left(host::AnyWire(std::ref(network.wire(0))), carry_config(options, 0), 2);
    am::Node right(host::AnyWire(std::ref(network.wire(1))), carry_config(options, 1), 2);
    FileSender sender(left, 1, file);
    FileReceiver receiver(right, 0, out);

    Progress progress("carrying", file.size());
    const auto step = [&](std::size_t node, Instant now) {
        check_interrupt();
        am::Node& turned = node == 0 ? left : right;
        turned.poll(now);
        if (node == 0) {
            sender.step(now);
            progress.show(sender.bytes_taken());
        } else {
            receiver.step(now);
        }
        turned.poll(now);  // what the step asked for leaves now
        return turned.next_deadline();
    };
    sim::Schedule schedule(2);
    const auto done = [&] { return sender.end().has_value() && sender.may_leave(schedule.now()); };
    sim::run(network, schedule, step, done);

    CarryResult result;
    result.wire = options.wire;
    result.bytes = sender.bytes_taken();
    result.seconds = sender.duration().seconds();
    if (sender.end()) {
        result.verified = sender.end()->verified;
        result.complete = result.verified && receiver.end() && receiver.end()->verified;
        result.failure = sender.end()->failure;
    } else {
        result.failure = "the simulated world stopped before the file had arrived";
    }
    result.sender = engine_counts(left, 1);
    result.receiver = engine_counts(right, 0);
    add_wire_counts(network.counts(0, 1), result.sender);
    add_wire_counts(network.counts(1, 0), result.receiver);
    return result;
}

}  // namespace wireproof::cli
