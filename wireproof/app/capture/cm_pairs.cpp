#include "wireproof/app/capture/cm_pairs.hpp"

#include <variant>

namespace wireproof::capture {

std::optional<ConnectedPair> CmPairs::on_packet(const SeenPacket& seen) {
    const proto::ib::Packet& packet = *seen.packet;
    if (packet.opcode->transport() != proto::ib::Transport::ud || seen.datagram.missing > 0 ||
        packet.bth().dest_qp != proto::ib::cm_queue_pair) {
        return std::nullopt;
    }
    const auto datagram = proto::ib::CmDatagram::decode(packet.payload);
    if (!datagram) return std::nullopt;
    const Address& from = seen.datagram.from;
    const Address& to = seen.datagram.to;
    if (const auto* request = std::get_if<proto::ib::CmRequest>(&datagram->message)) {
        Requested& known = requested_[{from.host, to.host, seen.network, request->local_id}];
        if (known.request != *request) known = {.request = *request};
        return std::nullopt;
    }
    const auto* reply = std::get_if<proto::ib::CmReply>(&datagram->message);
    if (reply == nullptr) return std::nullopt;
    const auto known = requested_.find({to.host, from.host, seen.network, reply->remote_id});
    if (known == requested_.end() || known->second.answered) return std::nullopt;
    known->second.answered = true;
    const proto::ib::CmRequest& request = known->second.request;
    constexpr std::uint8_t rc = 0;
    constexpr std::uint8_t uc = 1;
    if (request.transport != rc && request.transport != uc) return std::nullopt;
    // Each side names the PSN with which the other side must begin.
    return ConnectedPair{
        .requester = {to, from, reply->queue_pair, reply->starting_psn},
        .listener = {from, to, request.queue_pair, request.starting_psn},
        .transport = request.transport == rc ? proto::ib::Transport::rc : proto::ib::Transport::uc,
        .path_mtu = proto::ib::path_mtu_of(request.path_mtu),
        .network = seen.network};
}

}  // namespace wireproof::capture
