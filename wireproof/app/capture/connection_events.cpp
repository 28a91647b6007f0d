#include "wireproof/app/capture/connection_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace wireproof::capture {
namespace {

/// " (way 3)", for the end of the text of a refusal; short, because a line has 80 columns.
std::string refused_way(const Pairing::Answered& answered) {
    if (answered.way) return fmt::format(" (way {})", *answered.way + 1);
    if (answered.possible.empty() && !answered.many) return " (way unseen)";
    if (answered.possible.size() != 2) return " (way unknown)";
    return fmt::format(" (way {} or {})", answered.possible[0] + 1, answered.possible[1] + 1);
}

bool is_fatal(proto::ib::Syndrome syndrome) {
    return syndrome.kind() == proto::ib::SyndromeKind::nak &&
           syndrome.nak_code() != proto::ib::NakCode::sequence_error;
}

std::string_view answer_name(bool atomic) {
    return atomic ? "Atomic Ack" : "Read response";
}

}  // namespace

std::string Direction::name() const {
    return fmt::format("{} > {} qp {:06x}{}{}{}", from.host_text(), to.host_text(), queue_pair,
                       connection == 1 ? "" : fmt::format(" ({})", connection),
                       network.empty() ? "" : " in ", network);
}

ConnectionEvents::Followed ConnectionEvents::on_packet(const SeenPacket& seen) {
    const std::size_t direction = direction_of(seen);
    const std::size_t route = keys_[direction].route;
    const auto copy_of = copies_.on_packet(seen, route);
    if (copy_of && !seen.logged) return {direction, copy_of};
    follow(seen, direction, copy_of.has_value());
    copies_.note(seen, route);
    return {direction};
}

void ConnectionEvents::follow(const SeenPacket& seen, std::size_t direction, bool logged_twice) {
    const proto::ib::Transport transport = seen.packet->opcode->transport();
    if (const auto pair = cm_.on_packet(seen)) connect(*pair);
    if (transport != proto::ib::Transport::rc && transport != proto::ib::Transport::uc) return;
    if (seen.packet->opcode->is_response()) {
        on_response(seen, direction);
    } else {
        on_request(seen, direction, logged_twice);
    }
}

// A route and its opposite have the numbers 2 n and 2 n + 1.
std::size_t ConnectionEvents::route_of(const Address& from, const Address& to,
                                       const std::string& network, proto::ib::Transport transport) {
    const bool forward = from.host <= to.host;
    const RouteKey key{forward ? from.host : to.host, forward ? to.host : from.host, network,
                       transport};
    const std::size_t pair = routes_.emplace(key, routes_.size()).first->second;
    return 2 * pair + (forward ? 0 : 1);
}

std::size_t ConnectionEvents::direction_of(const SeenPacket& seen) {
    const Rocev2Datagram& datagram = seen.datagram;
    const proto::ib::Transport transport = seen.packet->opcode->transport();
    const Key key{route_of(datagram.from, datagram.to, seen.network, transport),
                  seen.packet->bth().dest_qp};
    const auto known = numbers_.find(key);
    if (known == numbers_.end()) return add_direction(seen, key, 1);
    const std::size_t number = known->second;
    if (!ends_before(seen, number)) return number;
    // The opposite direction belongs to the same connection.
    if (const auto peer = pairing_.peer_of(number)) followed_[*peer].ended = true;
    return add_direction(seen, key, directions_[number].connection + 1);
}

// The number of a queue pair is used again. A sender does not go back so far, and a capture does
// not miss so many packets. Nor does a sender change a message that it sends again.
bool ConnectionEvents::ends_before(const SeenPacket& seen, std::size_t direction) const {
    constexpr std::int64_t reads_max = 16;  // that adapters keep outstanding
    const State& state = followed_[direction];
    if (state.ended) return true;
    const proto::ib::Opcode& opcode = *seen.packet->opcode;
    const proto::ib::Transport transport = opcode.transport();
    const bool connected =
        transport == proto::ib::Transport::rc || transport == proto::ib::Transport::uc;
    if (!connected || opcode.is_response() || !state.sent.next()) return false;
    if (state.contents.compare(seen) == SentContents::Again::other_message) return true;
    const std::int64_t ahead =
        proto::ib::difference(seen.packet->bth().psn, state.sent.next()->last(state.path_mtus));
    return ahead > Pairing::near || ahead < -Pairing::near - reads_max * state.longest_read;
}

std::size_t ConnectionEvents::add_direction(const SeenPacket& seen, const Key& key,
                                            std::uint32_t connection) {
    const std::size_t number = directions_.size();
    const proto::ib::Transport transport = seen.packet->opcode->transport();
    numbers_.insert_or_assign(key, number);
    keys_.push_back(key);
    directions_.push_back({.from = seen.datagram.from,
                           .to = seen.datagram.to,
                           .queue_pair = key.queue_pair,
                           .transport = transport,
                           .network = seen.network,
                           .connection = connection});
    followed_.push_back({{}, {}, FollowedResponder(transport), {}, {}});
    pairing_.add(key.route);
    if (const auto announced = announced_.find(key); announced != announced_.end()) {
        begin(number, announced->second);
        announced_.erase(announced);
    }
    return number;
}

void ConnectionEvents::connect(const ConnectedPair& pair) {
    const auto key_of = [&](const ConnectedEnd& end) {
        return Key{route_of(end.from, end.to, pair.network, pair.transport), end.queue_pair};
    };
    const Key requester = key_of(pair.requester);
    const Key listener = key_of(pair.listener);
    for (const auto& [key, peer, psn] : {std::tuple{requester, listener, pair.requester.psn},
                                         std::tuple{listener, requester, pair.listener.psn}}) {
        const Announced connection{psn, pair.path_mtu, peer};
        if (const auto known = numbers_.find(key); known != numbers_.end()) {
            followed_[known->second].ended = true;
        }
        announced_.insert_or_assign(key, connection);
    }
}

void ConnectionEvents::begin(std::size_t direction, const Announced& connection) {
    State& followed = followed_[direction];
    followed.responder.expect(connection.psn);
    if (connection.path_mtu) followed.path_mtus.learn_exactly(*connection.path_mtu);
    const auto peer = numbers_.find(connection.peer);
    if (peer != numbers_.end() && peer->second != direction && !followed_[peer->second].ended) {
        pairing_.pair(direction, peer->second);
    }
}

void ConnectionEvents::on_request(const SeenPacket& seen, std::size_t direction,
                                  bool logged_twice) {
    State& followed = followed_[direction];
    const proto::ib::Packet& request = *seen.packet;
    const proto::ib::Opcode& opcode = *request.opcode;
    const proto::ib::Psn psn = request.bth().psn;
    const bool reliable = directions_[direction].transport == proto::ib::Transport::rc;
    followed.path_mtus.learn(request);
    const PsnBehind behind(request);
    followed.longest_read = std::max(followed.longest_read,
                                     proto::ib::difference(behind.last(followed.path_mtus), psn));

    // UC resends nothing; a second copy comes from the network.
    const bool back = reliable && followed.sent.goes_back(request, followed.path_mtus);
    const bool again = back && !logged_twice;
    if (again && pairing_.was_refused(direction, psn)) followed.responder.on_refusal(psn);
    if (again) {
        const std::size_t route = keys_[direction].route;
        copies_.expect_again(route);
        copies_.expect_again(route ^ 1);
    }
    FollowedResponder::Outcome outcome;
    if (!seen.lost) outcome = followed.responder.on_request(request, followed.path_mtus);
    std::string what;
    if (reliable && opcode.verb != proto::ib::Verb::send && opcode.verb != proto::ib::Verb::write) {
        const auto asked = followed.answers.on_request(request, followed.path_mtus);
        if (asked && asked->request != psn) {
            what = fmt::format(", the rest of the Read {:06x}", asked->request.value());
        }
    }
    if (followed.contents.compare(seen) == SentContents::Again::other_payload) {
        what += ", with another payload";
    }
    followed.contents.note(seen);
    if (again) tell(seen, direction, fmt::format("retry: from PSN {:06x} on{}", psn.value(), what));
    if (outcome.missing_from) {
        tell(seen, direction,
             fmt::format("gap: PSN {:06x}, {:06x} was expected", psn.value(),
                         outcome.missing_from->value()));
    }
    if (outcome.duplicate) tell(seen, direction, fmt::format("duplicate: PSN {:06x}", psn.value()));
    if (outcome.abandoned) {
        tell(seen, direction,
             fmt::format("abandoned: a message that ends before PSN {:06x}", psn.value()));
    }
    if (!reliable) return;
    pairing_.on_request(direction, {.psn = psn,
                                    .end = behind.last(followed.path_mtus),
                                    .port = seen.datagram.from.port,
                                    .ends = opcode.ends()});
}

void ConnectionEvents::on_response(const SeenPacket& seen, std::size_t direction) {
    const proto::ib::Packet& response = *seen.packet;
    const proto::ib::Aeth& aeth = response.headers.aeth;
    const bool acknowledges = response.opcode->verb == proto::ib::Verb::acknowledge;
    const bool refuses = acknowledges && (aeth.syndrome.kind() == proto::ib::SyndromeKind::nak ||
                                          aeth.syndrome.kind() == proto::ib::SyndromeKind::rnr_nak);
    Pairing::Answer answer{
        .psn = response.bth().psn, .port = seen.datagram.from.port, .refuses = refuses};
    if (acknowledges) answer.msn = aeth.msn;
    const Pairing::Answered answered = pairing_.on_answer(direction, answer);
    if (refuses) {
        copies_.expect_again(keys_[direction].route ^ 1);
        tell_refusal(seen, direction, answered);
        take_refusal(response, answered);
    } else if (answered.way) {
        take_answer(seen, direction, *answered.way);
    }
}

void ConnectionEvents::tell_refusal(const SeenPacket& seen, std::size_t direction,
                                    const Pairing::Answered& answered) {
    const proto::ib::Syndrome syndrome = seen.packet->headers.aeth.syndrome;
    const std::uint32_t psn = seen.packet->bth().psn.value();
    std::string what;
    if (syndrome.kind() == proto::ib::SyndromeKind::rnr_nak) {
        what = fmt::format("rnr: not ready for PSN {:06x}, wait {:g} ms", psn,
                           proto::ib::rnr_wait(syndrome.code()).seconds() * 1e3);
    } else {
        const std::string_view name = name_of(syndrome);
        what = fmt::format("nak: {}, PSN {:06x}", name.substr(name.find(' ') + 1), psn);
    }
    tell(seen, direction, what + refused_way(answered));
    events_.back().refused = answered.way;
    events_.back().possible = answered.possible;
}

void ConnectionEvents::take_refusal(const proto::ib::Packet& refusal,
                                    const Pairing::Answered& answered) {
    const bool fatal = is_fatal(refusal.headers.aeth.syndrome);
    if (!answered.way) {
        // One of these directions has failed. If a direction continues with the next PSN, it has
        // not.
        for (const std::size_t one : answered.possible) {
            if (!fatal) continue;
            followed_[one].responder.doubt();
            followed_[one].sent.doubt();
        }
        return;
    }
    State& followed = followed_[*answered.way];
    if (!fatal) {
        followed.responder.on_refusal(refusal.bth().psn);
        return;
    }
    // The next packets belong to another connection.
    followed.responder.on_failure();
    followed.answers.reset();
    followed.sent = {};
    pairing_.unpair(*answered.way);
}

void ConnectionEvents::take_answer(const SeenPacket& seen, std::size_t direction,
                                   std::size_t requests) {
    State& followed = followed_[requests];
    const proto::ib::Packet& response = *seen.packet;
    const proto::ib::Psn psn = response.bth().psn;
    followed.path_mtus.learn(response);
    // A response without an AETH decodes with the syndrome of an acknowledgement.
    if (response.headers.aeth.syndrome.kind() != proto::ib::SyndromeKind::ack) return;
    FollowedAnswers::Outcome outcome;
    if (!seen.lost) {
        outcome = response.opcode->verb == proto::ib::Verb::acknowledge
                      ? followed.answers.on_acknowledge(psn, followed.path_mtus)
                      : followed.answers.on_answer(psn, followed.path_mtus);
    }
    if (outcome.lost) {
        const std::string_view name = answer_name(outcome.lost->atomic);
        const std::uint32_t from = outcome.lost->from.value();
        const std::uint32_t to = outcome.lost->to.value();
        tell(seen, direction,
             from == to ? fmt::format("lost: {} PSN {:06x}", name, from)
                        : fmt::format("lost: {}s PSN {:06x} to {:06x}", name, from, to));
    }
    if (outcome.duplicate) {
        const bool atomic = response.opcode->verb == proto::ib::Verb::atomic_acknowledge;
        tell(seen, direction,
             fmt::format("duplicate: {} PSN {:06x}", answer_name(atomic), psn.value()));
    }
    followed.responder.on_acknowledge(psn, followed.path_mtus);
}

void ConnectionEvents::tell(const SeenPacket& seen, std::size_t direction, std::string what) {
    events_.push_back({.packet = seen.number, .direction = direction, .what = std::move(what)});
}

}  // namespace wireproof::capture
