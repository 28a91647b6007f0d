// Sender and receiver are two processes, as they are for users: so the measurement is realistic,
// and each can be killed. The parent sends; the child receives.
#include <fmt/format.h>
#include <unistd.h>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/app/transfer/carry_side.hpp"
#include "wireproof/app/transfer/live_end.hpp"
#include "wireproof/app/transfer/receiving_process.hpp"
#include "wireproof/app/transfer/udp_session.hpp"

namespace wireproof::app {
namespace {

SideCounts counts_of(const CarrySide& side, const LiveEnd& end) {
    SideCounts counts = side.engine_counts();
    end.add_counts(counts);
    return counts;
}

/// Everything that the child does.
ChildReport receive(const CarryOptions& options, LiveEnd& end, pid_t parent) {
    OutputFile out(options.out);
    const host::SteadyClock clock;
    const auto side = make_receiving_side(options, end.wire(), out);
    ChildReport report;
    try {
        turn_until(
            *side, clock,
            [&](Instant now) {
                side->step(now);
                return side->may_leave(now);
            },
            [parent] {
                return ::getppid() == parent ? std::string()
                                             : "the sending process has ended before the file";
            });
        report.verified = side->end()->verified;
        report.set_failure(side->end()->failure);
    } catch (const Failure& failure) {
        report.set_failure(failure.what());
    }
    report.counts = counts_of(*side, end);
    return report;
}

/// The part of the parent.
void send_live(CarrySide& side, ReceivingProcess& receiver, const InputFile& file) {
    const host::SteadyClock clock;
    Progress progress("carrying", file.size(), "B");
    turn_until(
        side, clock,
        [&](Instant now) {
            side.step(now);
            progress.show(side.bytes_taken());
            return side.may_leave(now) || (side.end() && receiver.report());
        },
        [&] {
            const std::string failure = side.end() ? "" : receiver.failure();
            return failure.empty() ? failure : "the receiving process: " + failure;
        });
}

}  // namespace

CarryResult carry_live(const CarryOptions& options, const InputFile& file) {
    LivePair pair = open_live_pair(options);
    ReceivingProcess receiver([&, parent = ::getpid()] {
        pair[0].reset();
        const auto end = pair[1]->open();
        return receive(options, *end, parent);
    });
    pair[1].reset();
    const auto end = pair[0]->open();

    const auto sender = make_sending_side(options, end->wire(), file);
    CarryResult result;
    result.protocol = options.protocol;
    result.wire = options.wire;
    try {
        send_live(*sender, receiver, file);
        result.verified = sender->end()->verified;
        result.failure = sender->end()->failure;
    } catch (const Interrupted&) {
        throw;
    } catch (const Failure& failure) {
        result.failure = failure.what();
    }
    result.bytes = sender->bytes_taken();
    result.seconds = sender->duration().seconds();
    result.sender = counts_of(*sender, *end);

    if (!result.verified) receiver.stop();
    const auto patience = Duration::from_seconds(result.verified ? options.peer_timeout : 1);
    const auto& report = receiver.report(patience);
    if (report) result.receiver = report->counts;
    const bool arrived = result.verified && report && report->verified;
    result.messages = sender->messages();
    result.complete = arrived && (!result.messages || result.messages->abandoned() == 0);
    if (result.verified && !arrived) {
        result.failure = "the receiving process did not say that it has the file";
    }
    return result;
}

}  // namespace wireproof::app
