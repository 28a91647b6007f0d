#include "wireproof/app/capture/pairing.hpp"

#include <algorithm>

namespace wireproof::capture {
namespace {

/// Removes a way from an index.
template <class Index, class Key>
void forget(Index& index, Key key, std::size_t way) {
    const auto place = index.find(key);
    if (place == index.end()) return;
    place->second.erase(way);
    if (place->second.empty()) index.erase(place);
}

}  // namespace

void Pairing::add(std::size_t route) {
    if (routes_.size() <= (route | 1)) routes_.resize((route | 1) + 1);
    ways_.push_back({.route = route});
}

void Pairing::on_request(std::size_t number, const Sent& sent) {
    note_port(number, sent.port);
    Way& way = ways_[number];
    if (!way.first) {
        way.first = way.next = sent.psn;
        if (!way.peer) routes_[way.route].unpaired.insert(number);
    }
    const std::int64_t ahead = proto::ib::difference(sent.psn, way.next);
    // The sender began again without notice, or the capture missed many packets: earlier PSNs say
    // nothing.
    if (ahead < -near || ahead > near) {
        way.first = way.next = sent.psn;
    } else if (ahead < 0) {
        return;  // sent again
    }
    way.next = sent.end;
    // A PSN that is half a circle behind would look as if it were ahead.
    constexpr std::int64_t kept = 1 << 22;
    if (proto::ib::difference(way.next, *way.first) > kept) {
        way.first =
            proto::ib::wire_circle.advance(way.next, proto::ib::wire_circle.modulus() - kept);
    }
    if (sent.ends) ++way.messages;
    note_recent(number, sent);
}

void Pairing::note_port(std::size_t number, std::uint16_t port) {
    Way& way = ways_[number];
    if (way.port == port) return;
    auto& by_port = routes_[way.route].by_port;
    if (way.port) forget(by_port, *way.port, number);
    way.port = port;
    by_port[port].insert(number);
}

void Pairing::note_recent(std::size_t number, const Sent& sent) {
    Way& way = ways_[number];
    auto& by_psn = routes_[way.route].by_psn;
    // The first response may be to any PSN of a Read. But there are not many such PSNs.
    const std::int64_t size = std::clamp<std::int64_t>(proto::ib::difference(sent.end, sent.psn), 1,
                                                       std::int64_t{recent_max});
    for (std::int64_t i = 0; i < size; ++i) {
        const proto::ib::Psn psn =
            proto::ib::wire_circle.advance(sent.psn, static_cast<std::uint64_t>(i));
        Recent& place = way.recent[psn.value() % recent_max];
        if (!way.peer) {
            if (place.used) {
                forget(by_psn, place.psn.value(), number);
            }
            by_psn[psn.value()].insert(number);
        }
        place = {.psn = psn, .used = true, .messages = way.messages};
    }
}

void Pairing::list(std::size_t number) {
    const Way& way = ways_[number];
    if (!way.first) return;
    Route& route = routes_[way.route];
    route.unpaired.insert(number);
    for (const Recent& place : way.recent) {
        if (place.used) route.by_psn[place.psn.value()].insert(number);
    }
}

void Pairing::unlist(std::size_t number) {
    const Way& way = ways_[number];
    Route& route = routes_[way.route];
    route.unpaired.erase(number);
    for (const Recent& place : way.recent) {
        if (place.used) forget(route.by_psn, place.psn.value(), number);
    }
}

void Pairing::note_refusal(std::size_t number, proto::ib::Psn psn) {
    forget_refusal(number);
    Way& way = ways_[number];
    auto& same = routes_[way.route ^ 1].refusals[psn.value()];
    if (same.size() >= few) return;
    same.push_back(number);
    way.refused = psn;
}

void Pairing::forget_refusal(std::size_t number) {
    Way& way = ways_[number];
    if (!way.refused) return;
    auto& refusals = routes_[way.route ^ 1].refusals;
    if (const auto same = refusals.find(way.refused->value()); same != refusals.end()) {
        std::erase(same->second, number);
        if (same->second.empty()) refusals.erase(same);
    }
    way.refused.reset();
}

bool Pairing::has_sent(const Way& way, proto::ib::Psn psn) const {
    return way.first && proto::ib::difference(psn, *way.first) >= 0 &&
           proto::ib::difference(psn, way.next) < 0;
}

// A responder counts the messages that it has completed. If the capture has the connection from its
// first packet, the count of sent messages is the same.
bool Pairing::counts_as(const Way& way, const Answer& answer) const {
    if (!answer.msn) return false;
    const proto::ib::Psn done = answer.refuses ? proto::ib::before(answer.psn) : answer.psn;
    const Recent& place = way.recent[done.value() % recent_max];
    return place.used && place.psn == done && place.messages == answer.msn->value();
}

Pairing::Answered Pairing::on_answer(std::size_t number, const Answer& answer) {
    note_port(number, answer.port);
    if (const auto peer = ways_[number].peer) {
        const Way& requests = ways_[*peer];
        const std::int64_t ahead =
            requests.first ? proto::ib::difference(answer.psn, requests.next) : 0;
        if (ways_[number].certain || (ahead < 0 && ahead >= -near)) return {.way = peer};
        // The answer does not match the captured requests of its peer. Look for another way that
        // sent them.
        bool many = false;
        const auto others = those_that_sent(number, answer.psn, many);
        if (others.size() != 1) return {.way = peer};
        for (const std::size_t one : {number, *peer}) {
            ways_[one].peer.reset();
            list(one);
        }
    }
    Answered answered = search(number, answer);
    if (answered.way) {
        join(number, *answered.way);
    } else if (answer.refuses) {
        note_refusal(number, answer.psn);
    } else {
        forget_refusal(number);
    }
    return answered;
}

Pairing::Answered Pairing::search(std::size_t number, const Answer& answer) {
    Answered answered;
    answered.possible = those_that_sent(number, answer.psn, answered.many);
    ways_[number].candidates = answered.possible;
    if (answered.possible.size() == 1) {
        answered.way = answered.possible.front();
    } else if (answered.possible.empty() && !answered.many) {
        answered.way = nearest(ways_[number].route ^ 1, answer);
    } else {
        answered.way = with_port(number, answer);
        if (!answered.way) {
            std::vector<std::size_t> counted;
            for (const std::size_t one : answered.possible) {
                if (counts_as(ways_[one], answer)) counted.push_back(one);
            }
            if (counted.size() == 1) answered.way = counted.front();
        }
    }
    if (answered.way) answered.possible.clear();
    return answered;
}

// If earlier answers left some candidates, these are fewer than the ways that sent this PSN now.
std::vector<std::size_t> Pairing::those_that_sent(std::size_t number, proto::ib::Psn psn,
                                                  bool& many) {
    const Way& way = ways_[number];
    const Route& back = routes_[way.route ^ 1];
    std::vector<std::size_t> found;
    const auto look_at = [&](const auto& some) {
        for (const std::size_t one : some) {
            ++looked_at_;
            if (!ways_[one].peer && has_sent(ways_[one], psn)) found.push_back(one);
        }
    };
    look_at(way.candidates);
    if (found.empty()) {
        if (back.unpaired.size() <= few) {
            look_at(back.unpaired);
        } else if (const auto same = back.by_psn.find(psn.value()); same != back.by_psn.end()) {
            many = same->second.size() > few;
            if (!many) look_at(same->second);
        }
    }
    std::ranges::sort(found);
    return found;
}

std::optional<std::size_t> Pairing::with_port(std::size_t number, const Answer& answer) {
    const Way& way = ways_[number];
    const auto alone = [&](std::size_t route) -> std::optional<std::size_t> {
        const auto& by_port = routes_[route].by_port;
        const auto same = by_port.find(answer.port);
        if (same == by_port.end() || same->second.size() != 1) return std::nullopt;
        return *same->second.begin();
    };
    const auto one = alone(way.route ^ 1);
    if (!one || !alone(way.route)) return std::nullopt;
    ++looked_at_;
    if (ways_[*one].peer || !has_sent(ways_[*one], answer.psn)) return std::nullopt;
    return one;
}

// The capture may have missed the request that is answered, and a refused request may have been
// lost before the capture. If only one way is possible, it is the right one.
std::optional<std::size_t> Pairing::nearest(std::size_t route, const Answer& answer) {
    const auto& unpaired = routes_[route].unpaired;
    if (unpaired.size() > few) return std::nullopt;
    std::optional<std::size_t> found;
    for (const std::size_t one : unpaired) {
        ++looked_at_;
        const std::int64_t ahead = proto::ib::difference(answer.psn, ways_[one].next);
        if (ahead < (answer.refuses ? -near : 0) || ahead >= near) continue;
        if (found) return std::nullopt;
        found = one;
    }
    return found;
}

bool Pairing::was_refused(std::size_t number, proto::ib::Psn psn) {
    const Way& way = ways_[number];
    if (way.peer) return false;
    const auto& refusals = routes_[way.route].refusals;
    const auto same = refusals.find(psn.value());
    if (same == refusals.end()) return false;
    std::vector<std::size_t> by;
    for (const std::size_t one : same->second) {
        ++looked_at_;
        const auto& candidates = ways_[one].candidates;
        if (candidates.empty() || std::ranges::find(candidates, number) != candidates.end()) {
            by.push_back(one);
        }
    }
    if (by.size() == 1) join(by.front(), number);
    return !by.empty();
}

void Pairing::pair(std::size_t way, std::size_t other) {
    unpair(way);
    unpair(other);
    join(way, other);
    ways_[way].certain = ways_[other].certain = true;
}

void Pairing::unpair(std::size_t number) {
    const auto peer = ways_[number].peer;
    part(number);
    if (peer) part(*peer);
}

void Pairing::join(std::size_t number, std::size_t other) {
    for (const auto& [one, peer] : {std::pair{number, other}, {other, number}}) {
        forget_refusal(one);
        unlist(one);
        ways_[one].peer = peer;
        ways_[one].candidates.clear();
    }
}

void Pairing::part(std::size_t number) {
    forget_refusal(number);
    unlist(number);
    Way& way = ways_[number];
    way.recent = {};
    way.peer.reset();
    way.certain = false;
    way.candidates.clear();
    way.first.reset();
    way.messages = 0;
}

}  // namespace wireproof::capture
