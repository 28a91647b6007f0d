#include "wireproof/cli/udp_session.hpp"

#include <algorithm>

#include "wireproof/cli/interrupt.hpp"
#include "wireproof/host/wait.hpp"

namespace wireproof::cli {
namespace {

constexpr Duration look_after = Duration::milliseconds(100);

}  // namespace

UdpSession::UdpSession(am::UdpNode wire, const am::Config& config)
    : udp_(std::move(wire)), node_(udp_.wire(), config, 2) {}

SideCounts UdpSession::counts(std::size_t peer) const {
    SideCounts counts = engine_counts(node_, peer);
    const am::UdpNode::Counts wire = udp_.counts();
    counts.frames = wire.frames_sent;
    counts.bytes = wire.bytes_sent;
    counts.lost = wire.lost;
    counts.damaged = wire.damaged;
    counts.duplicated = wire.duplicated;
    return counts;
}

void UdpSession::run(const std::function<bool(Instant)>& step,
                     const std::function<std::string()>& alive) {
    Instant look = clock_.now();
    while (true) {
        check_interrupt();
        const Instant now = clock_.now();
        const std::size_t handled = node_.poll(now);
        if (step(now)) break;
        if (now >= look) {
            look = now + look_after;
            if (const std::string gone = alive(); !gone.empty()) throw Failure(gone);
        }
        if (handled > 0) continue;
        node_.poll(clock_.now());  // what the step asked for leaves now
        host::wait_until(node_.wire(), clock_, std::min(look, node_.next_deadline()));
    }
    node_.poll(clock_.now());
}

}  // namespace wireproof::cli
