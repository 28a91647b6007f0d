// Sender and receiver are processes of their own, so that what is measured and what can be killed
// is what users would have. The parent sends; the child receives.
#include <fmt/format.h>
#include <unistd.h>

#include "wireproof/cli/carry_run.hpp"
#include "wireproof/cli/file_transfer.hpp"
#include "wireproof/cli/interrupt.hpp"
#include "wireproof/cli/progress.hpp"
#include "wireproof/cli/receiving_process.hpp"
#include "wireproof/cli/udp_session.hpp"

namespace wireproof::cli {
namespace {

am::UdpNode open_node(const CarryOptions& options, std::uint16_t node) {
    am::UdpNode::Options udp;
    udp.local = *Address::parse("127.0.0.1:0");
    udp.frame_max = carry_config(options, node).packet_max;
    udp.faults = options.faults;
    udp.seed = options.seed + node;
    auto opened = am::UdpNode::open(udp);
    if (!opened) throw Failure(opened.error().message);
    return std::move(*opened);
}

/// The child's whole life.
ChildReport receive(const CarryOptions& options, am::UdpNode wire, pid_t parent) {
    OutputFile out(options.out);
    UdpSession session(std::move(wire), carry_config(options, 1));
    FileReceiver receiver(session.node(), 0, out);
    ChildReport report;
    try {
        session.run(
            [&](Instant now) {
                receiver.step(now);
                return receiver.may_leave(now);
            },
            [parent] {
                return ::getppid() == parent ? std::string()
                                             : "the sending process has ended before the file";
            });
        report.verified = receiver.end()->verified;
        report.set_failure(receiver.end()->failure);
    } catch (const Failure& failure) {
        report.set_failure(failure.what());
    }
    report.counts = session.counts(0);
    return report;
}

/// The parent's part of it.
void send(UdpSession& session, FileSender& sender, ReceivingProcess& receiver,
          const InputFile& file) {
    Progress progress("carrying", file.size());
    session.run(
        [&](Instant now) {
            sender.step(now);
            progress.show(sender.bytes_taken());
            return sender.may_leave(now) || (sender.end() && receiver.report());
        },
        [&] {
            const std::string failure = sender.end() ? "" : receiver.failure();
            return failure.empty() ? failure : "the receiving process: " + failure;
        });
}

}  // namespace

CarryResult carry_on_udp(const CarryOptions& options, const InputFile& file) {
    am::UdpNode left = open_node(options, 0);
    am::UdpNode right = open_node(options, 1);
    const Address to_right = right.socket().local_address();
    const Address to_left = left.socket().local_address();
    if (!left.socket().set_peer(PeerId{1}, to_right) ||
        !right.socket().set_peer(PeerId{0}, to_left)) {
        throw Failure("the two sockets have one address");
    }
    ReceivingProcess receiver([&, parent = ::getpid()] {
        { const am::UdpNode closed = std::move(left); }
        return receive(options, std::move(right), parent);
    });
    { const am::UdpNode closed = std::move(right); }

    UdpSession session(std::move(left), carry_config(options, 0));
    FileSender sender(session.node(), 1, file);
    CarryResult result;
    try {
        send(session, sender, receiver, file);
        result.verified = sender.end()->verified;
        result.failure = sender.end()->failure;
    } catch (const Interrupted&) {
        throw;
    } catch (const Failure& failure) {
        result.failure = failure.what();
    }
    result.bytes = sender.bytes_taken();
    result.seconds = sender.duration().seconds();
    result.sender = session.counts(1);

    if (!result.verified) receiver.stop();
    const auto patience = Duration::from_seconds(result.verified ? options.peer_timeout : 1);
    const auto& report = receiver.report(patience);
    if (report) result.receiver = report->counts;
    result.complete = result.verified && report && report->verified;
    if (result.verified && !result.complete) {
        result.failure = "the receiving process did not say that it has the file";
    }
    return result;
}

}  // namespace wireproof::cli
