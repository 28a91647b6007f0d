#include "wireproof/cli/connection_events.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace wireproof::cli {
namespace {

std::string host_of(const Address& address) {
    const std::string text = address.to_string();
    const std::string host = text.substr(0, text.rfind(':'));
    return host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

std::string Direction::name() const {
    return fmt::format("{} > {} qp {:06x}", host_of(from), host_of(to), queue_pair);
}

std::size_t ConnectionEvents::on_packet(const SeenPacket& seen) {
    const std::size_t direction = direction_of(seen);
    const ib::Opcode& opcode = *seen.packet->opcode;
    if (opcode.verb == ib::Verb::acknowledge) on_acknowledge(seen, direction);
    const ib::Transport transport = opcode.transport();
    if (transport != ib::Transport::rc && transport != ib::Transport::uc) return direction;
    if (opcode.is_response()) {
        on_response(seen, direction);
    } else {
        on_request(seen, direction);
    }
    return direction;
}

std::size_t ConnectionEvents::direction_of(const SeenPacket& seen) {
    const Rocev2Datagram& datagram = seen.datagram;
    const Direction direction{.from = datagram.from,
                              .to = datagram.to,
                              .queue_pair = seen.packet->bth().dest_qp,
                              .transport = seen.packet->opcode->transport()};
    const Key key{direction.from.host, direction.to.host, direction.queue_pair,
                  direction.transport};
    const auto [place, fresh] = numbers_.emplace(key, directions_.size());
    if (fresh) {
        directions_.push_back(direction);
        sent_.emplace_back();
        responders_.emplace_back(direction.transport,
                                 path_mtus_.between(direction.from, direction.to));
    }
    return place->second;
}

void ConnectionEvents::on_acknowledge(const SeenPacket& seen, std::size_t direction) {
    const ib::Syndrome syndrome = seen.packet->headers.aeth.syndrome;
    const std::uint32_t psn = seen.packet->bth().psn.value();
    std::string what;
    if (syndrome.kind() == ib::SyndromeKind::rnr_nak) {
        what = fmt::format("rnr: not ready for PSN {:06x}, wait {:g} ms", psn,
                           ib::rnr_wait(syndrome.code()).seconds() * 1e3);
    } else if (syndrome.kind() == ib::SyndromeKind::nak) {
        const std::string_view name = name_of(syndrome);
        what = fmt::format("nak: {}, PSN {:06x}", name.substr(name.find(' ') + 1), psn);
    } else {
        return;
    }
    tell(seen, direction, std::move(what));
}

void ConnectionEvents::on_request(const SeenPacket& seen, std::size_t direction) {
    const Direction& way = directions_[direction];
    const ib::Packet& request = *seen.packet;
    const std::uint32_t psn = request.bth().psn.value();
    const std::size_t path_mtu = path_mtus_.between(way.from, way.to);
    // On UC nothing is sent again; there a second copy is the network's.
    if (way.transport == ib::Transport::rc && sent_[direction].goes_back(request, path_mtu)) {
        tell(seen, direction, fmt::format("retry: from PSN {:06x} on", psn));
    }
    const FollowedResponder::Outcome outcome = responders_[direction].on_request(request);
    if (outcome.missing_from) {
        tell(seen, direction,
             fmt::format("gap: PSN {:06x}, {:06x} was expected", psn,
                         outcome.missing_from->value()));
    }
    if (outcome.duplicate) tell(seen, direction, fmt::format("duplicate: PSN {:06x}", psn));
    if (outcome.abandoned) {
        tell(seen, direction, fmt::format("abandoned: a message that ends before PSN {:06x}", psn));
    }
}

void ConnectionEvents::on_response(const SeenPacket& seen, std::size_t direction) {
    const ib::Psn psn = seen.packet->bth().psn;
    const auto requests = answered_by(direction, psn);
    if (!requests) return;
    FollowedResponder& responder = responders_[*requests];
    // In responses without one it is that of an acknowledgement.
    const ib::Syndrome syndrome = seen.packet->headers.aeth.syndrome;
    if (syndrome.kind() == ib::SyndromeKind::ack) {
        responder.on_acknowledge(psn);
    } else if (syndrome.kind() == ib::SyndromeKind::nak &&
               syndrome.nak_code() != ib::NakCode::sequence_error) {
        responder.on_failure();
        sent_[*requests] = {};  // what comes next is of another connection
    } else if (syndrome.kind() != ib::SyndromeKind::reserved) {
        responder.on_refusal(psn);
    }
}

// A packet does not name the queue pair that it comes from: the nearest PSN tells.
std::optional<std::size_t> ConnectionEvents::answered_by(std::size_t direction, ib::Psn psn) const {
    const Direction& way = directions_[direction];
    std::optional<std::size_t> nearest;
    std::int64_t distance = 1 << 16;
    for (std::size_t i = 0; i < directions_.size(); ++i) {
        const Direction& other = directions_[i];
        const bool back = other.from.host == way.to.host && other.to.host == way.from.host;
        const auto expected = responders_[i].expected();
        if (!back || other.transport != way.transport || !expected) continue;
        const std::int64_t apart = std::abs(ib::difference(psn, *expected));
        if (apart >= distance) continue;
        distance = apart;
        nearest = i;
    }
    return nearest;
}

void ConnectionEvents::tell(const SeenPacket& seen, std::size_t direction, std::string what) {
    events_.push_back({seen.number, direction, std::move(what)});
}

}  // namespace wireproof::cli
