#include "wireproof/proto/ib/transport/peer_windows.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::uint32_t windows_a_step = 16;

}  // namespace

void PeerWindows::on_arrived(PeerId peer, std::uint32_t packets) {
    if (!limited()) return;
    Flow& one = flow(peer);
    if (one.near) return;
    one.recovering -= std::min(one.recovering, packets);
    // If less than half of the window is used, arrivals do not show that it can be larger.
    if (one.under_way * 2 < one.packets) return;
    one.credit += packets;
    const std::uint32_t step = one.packets * (one.packets < config_.start ? 1 : windows_a_step);
    if (one.credit < step) return;
    one.credit -= step;
    one.packets = std::min(one.packets + 1, config_.most);
}

void PeerWindows::on_lost(PeerId peer, Loss loss) {
    if (!limited()) return;
    Flow& one = flow(peer);
    if (one.near) return;
    if (one.recovering > 0) return;
    one.recovering = one.under_way;
    one.credit = 0;
    const std::uint32_t least =
        loss == Loss::controlled ? std::min(config_.start, one.packets) : config_.least;
    one.packets = std::max(one.packets / 2, least);
}

PeerWindows::Next PeerWindows::next_waiting(const Waiting& waiting, std::uint32_t last,
                                            std::uint32_t room) {
    Next after;
    Next first;
    const auto prefer = [](Next& to, std::uint32_t queue_pair, std::uint32_t packets) {
        if (to.queue_pair == 0 || queue_pair < to.queue_pair) to = {queue_pair, packets};
    };
    for (const auto& [packets, queue_pairs] : waiting) {
        if (packets > room) break;
        prefer(first, *queue_pairs.begin(), packets);
        const auto next = queue_pairs.upper_bound(last);
        if (next != queue_pairs.end()) prefer(after, *next, packets);
    }
    return after.queue_pair != 0 ? after : first;
}

void PeerWindows::fingerprint(Fingerprint& sink) const {
    sink.add(flows_.size());
    for (const auto& [peer, flow] : flows_) {
        sink.add(peer);
        sink.add(flow.packets);
        sink.add(flow.under_way);
        sink.add(flow.credit);
        sink.add(flow.recovering);
        sink.add(flow.near);
        sink.add(flow.waiting.size());
        for (const auto& [packets, queue_pairs] : flow.waiting) {
            sink.add(packets);
            sink.add(queue_pairs.size());
            for (const std::uint32_t queue_pair : queue_pairs) sink.add(queue_pair);
        }
    }
}

}  // namespace wireproof::proto::ib
