#include "wireproof/cli/learned_path_mtus.hpp"

#include <algorithm>

#include "wireproof/cli/capture_walk.hpp"
#include "wireproof/cli/interrupt.hpp"
#include "wireproof/cli/verbs.hpp"

namespace wireproof::cli {
namespace {

constexpr std::size_t of_ethernet = 1024;

}  // namespace

LearnedPathMtus::LearnedPathMtus(const std::string& path) {
    CaptureWalk capture(path);
    try {
        while (const auto seen = capture.next()) {
            if (seen->packet && seen->icrc_right) learn(seen->datagram, *seen->packet);
        }
    } catch (const Interrupted&) {
        throw;
    } catch (const Failure&) {
        return;  // whoever reads it again will say so
    }
}

void LearnedPathMtus::learn(const Rocev2Datagram& datagram, const ib::Packet& packet) {
    const std::size_t size = packet.payload.size();
    if (packet.opcode->payload != ib::PayloadRule::whole || !ib::is_path_mtu(size)) return;
    std::size_t& largest = largest_[pair_of(datagram.from, datagram.to)];
    largest = std::max(largest, size);
}

std::size_t LearnedPathMtus::between(const Address& one, const Address& other) const {
    const auto known = largest_.find(pair_of(one, other));
    return known == largest_.end() ? of_ethernet : known->second;
}

std::pair<LearnedPathMtus::Host, LearnedPathMtus::Host> LearnedPathMtus::pair_of(
    const Address& one, const Address& other) {
    return std::minmax(one.host, other.host);
}

}  // namespace wireproof::cli
