// Questions to a peer: the requests for a connection or for a datagram service. After some refusals
// this side asks again.
#include <utility>

#include "wireproof/front/verbs/cm/core.hpp"
#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::verbs {
namespace {

namespace ib = proto::ib;
using State = CmIdentifier::State;

}  // namespace

/// If no process of this host has the address, it answers instead of the peer.
int RdmaCm::ask_first(Instant now, ib::ConnectionManagement& management, CmIdentifier& one,
                      CmQuestion question) {
    if (one.peer_socket == std::uint64_t{0}) return refuse_for_nobody(one), 0;
    one.question = std::move(question);
    one.may_be_early_until = now + limits::early_most;
    return send_question(now, management, one);
}

int RdmaCm::send_question(Instant now, ib::ConnectionManagement& management, CmIdentifier& one) {
    const auto peer = device_->find_peer(one.peer);
    if (!peer) return ENETUNREACH;
    one.peer_number = *peer;
    one.peer_gone = false;
    watch(now, one);
    const auto* const request = std::get_if<ib::CmRequest>(&one.question);
    one.connection =
        request != nullptr
            ? management.connect(now, *peer, *request)
            : management.resolve(now, *peer, std::get<ib::CmServiceRequest>(one.question));
    if (!one.connection) return ENOMEM;
    connections_[*one.connection] = one.number;
    one.state = State::requesting;
    return 0;
}

/// True if this side asks again after a refusal, which the program then does not see: the peer did
/// not listen yet, or it named its smaller path MTU.
bool RdmaCm::may_ask_again(Instant now, CmIdentifier& one, const ib::CmEvent& event) {
    constexpr Duration pause = Duration::milliseconds(50);
    const auto* const service = std::get_if<ib::CmServiceReply>(&event.message);
    const auto* const reject = std::get_if<ib::CmReject>(&event.message);
    if (one.state != State::requesting) return false;
    const bool nobody = service != nullptr
                            ? service->status == ib::CmServiceStatus::unsupported
                            : reject != nullptr && reject->reason == ib::CmReason::invalid_service;
    if (nobody && now < one.may_be_early_until) {
        one.asks_again_at = now + pause;
        return true;
    }
    auto* const request = std::get_if<ib::CmRequest>(&one.question);
    const bool narrow = request != nullptr && reject != nullptr && reject->detail_length > 0 &&
                        reject->reason == ib::CmReason::invalid_path_mtu;
    if (!narrow) return false;
    const auto less = ib::path_mtu_of(std::to_integer<std::uint8_t>(reject->detail[0]));
    if (!less || *less >= one.path_mtu) return false;
    one.path_mtu = *less;
    request->path_mtu = ib::path_mtu_code(*less);
    one.asks_again_at = now;
    return true;
}

void RdmaCm::ask_again(Instant now, ib::ConnectionManagement& management, CmIdentifier& one) {
    one.channel->make_room();
    const int error = send_question(now, management, one);
    one.asks_again_at = never;
    if (error == 0) return;
    over(one);
    tell(one, cm_event::unreachable, -ENOMEM);
}

}  // namespace wireproof::verbs
