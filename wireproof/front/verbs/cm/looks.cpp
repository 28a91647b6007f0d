// What the device looks for outside its packets: the listeners of names, in files, and the sockets
// of peers, in the kernel. Either may take long. So the device's lock is held only to collect what
// is wanted and to take the results. The calling thread looks, or the looker: a thread of its own,
// because the keeper's has packets to move.
#include <map>
#include <utility>
#include <vector>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/cm/core.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"

namespace wireproof::verbs {
namespace {

using State = CmIdentifier::State;

constexpr Duration between_watches = Duration::milliseconds(500);

CmService service_sought(const CmIdentifier& one) {
    return {one.space, one.destination.port};
}

}  // namespace

void RdmaCm::look(Instant now) {
    seek(now);
    look_after_peers();
}

// The program at the peer may begin to listen at the same moment as this program begins to ask.
void RdmaCm::seek(Instant now) {
    std::map<CmService, std::optional<Address>> sought;
    device_->managing([&](Instant, proto::ib::ConnectionManagement&) {
        for (const auto& [number, one] : identifiers_) {
            if (one.state == State::resolving) sought.try_emplace(service_sought(one));
        }
        return 0;
    });
    if (sought.empty()) return;
    for (auto& [service, found] : sought) found = CmRegistry::of_process().find(service);
    device_->managing([&](Instant, proto::ib::ConnectionManagement&) {
        for (auto& [number, one] : identifiers_) {
            if (one.state != State::resolving) continue;
            const auto looked = sought.find(service_sought(one));
            if (looked != sought.end()) settle(now, one, looked->second);
        }
        return 0;
    });
}

void RdmaCm::settle(Instant now, CmIdentifier& one, const std::optional<Address>& found) {
    if (found) return resolve_to(one, *found);
    if (now < one.resolved_by) return plan_look(now + between_connection_looks);
    resolve_to(one, is_any(one.destination) ? device_->address() : one.destination);
}

/// For a call that is about to ask or to answer: see socket_at().
std::optional<std::uint64_t> RdmaCm::socket_of_peer(const ChannelPointer& channel,
                                                    std::uint32_t number) {
    std::optional<Address> peer;
    with(channel, number, [&](const CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        peer = address_of(one.peer_gid);
        return 0;
    });
    return peer ? socket_at(*peer, device_->address()) : std::nullopt;
}

// A killed process sends no message. But its socket is gone, and another process that takes the
// address has another socket.
void RdmaCm::watch(Instant now, const CmIdentifier& one) {
    if (one.peer_socket) plan_look(now + between_watches);
}

/// If the device has met the peer, the peer's end is told (on_peer_end), and looks are not needed.
bool RdmaCm::is_watched(const CmIdentifier& one) const {
    return one.connection && one.peer_socket && !device_->has_met(one.peer_number);
}

// A connection that begins meanwhile has another identifier of connection management, and is not
// judged by what was seen before.
void RdmaCm::look_after_peers() {
    std::vector<std::pair<proto::ib::CmId, proto::ib::Gid>> watched;
    device_->managing([&](Instant, proto::ib::ConnectionManagement&) {
        for (const auto& [number, one] : identifiers_) {
            if (is_watched(one)) watched.emplace_back(*one.connection, one.peer_gid);
        }
        return 0;
    });
    if (watched.empty()) return;
    std::map<proto::ib::Gid, std::optional<std::uint64_t>> sockets;
    for (const auto& [connection, gid] : watched) {
        const auto [at, is_new] = sockets.try_emplace(gid);
        if (is_new) at->second = socket_at(*address_of(gid), device_->address());
    }
    device_->managing([&](Instant now, proto::ib::ConnectionManagement&) {
        for (const auto& [connection, gid] : watched) {
            const auto found = connections_.find(connection);
            const auto socket = sockets.at(gid);
            if (found == connections_.end() || !socket) continue;
            CmIdentifier& one = identifiers_.at(found->second);
            if (is_watched(one)) note_socket(now, one, *socket);
        }
        return 0;
    });
}

// A peer whose socket was never seen may use none of the kernel's. A process that has taken the
// address since may answer a question, or may have asked.
void RdmaCm::note_socket(Instant now, CmIdentifier& one, std::uint64_t socket) {
    if (*one.peer_socket == 0) one.peer_socket = socket;
    const bool may_follow = one.state == State::requesting || one.state == State::requested;
    const bool gone = may_follow ? socket == 0 : socket != *one.peer_socket;
    if (!gone) return;
    one.peer_gone = true;
    next_try_ = now;
}

void RdmaCm::let_thread_look() {
    device_->locked([this](proto::ib::Port&) { return thread_looks_ = true; });
}

/// The caller holds the device's lock.
void RdmaCm::start_look(Instant now) {
    bool wanted = false;
    for (const auto& [number, one] : identifiers_) {
        wanted = wanted || one.state == State::resolving || is_watched(one);
        if (one.connection && one.peer_socket) plan_look(now + between_watches);
    }
    if (!wanted || !thread_looks_) return;
    if (looker_ == nullptr) looker_ = std::make_unique<Keeper>(device_->clock());
    looker_->start({-1, -1}, [this] { return lookers_turn(); });
    looker_->wake_by(now);
}

// The thread plans its sleep before it collects what is wanted. So whoever wants something later
// wakes it.
bool RdmaCm::lookers_turn() {
    device_->locked([this](proto::ib::Port&) { return looker_->plan(never, false), 0; });
    const Instant now = device_->now();
    if (errno_of([&] { return look(now), 0; }) == 0) return true;
    return errno_of([&] {
               return device_->managing([&](Instant, proto::ib::ConnectionManagement&) {
                   return plan_look(now + between_connection_looks), 0;
               });
           }) == 0;
}

}  // namespace wireproof::verbs
