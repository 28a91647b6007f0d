#include "wireproof/cli/connection_events.hpp"

#include <fmt/format.h>

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
    if (opcode.transport() == ib::Transport::rc && !opcode.is_response()) {
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
    const Rocev2Datagram& datagram = seen.datagram;
    const std::size_t path_mtu = path_mtus_.between(datagram.from, datagram.to);
    if (!sent_[direction].goes_back(*seen.packet, path_mtu)) return;
    tell(seen, direction, fmt::format("retry: from PSN {:06x} on", seen.packet->bth().psn.value()));
}

void ConnectionEvents::tell(const SeenPacket& seen, std::size_t direction, std::string what) {
    events_.push_back({seen.number, direction, std::move(what)});
}

}  // namespace wireproof::cli
