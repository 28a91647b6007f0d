// Finds which direction of a connection answers which. A packet names only its destination queue
// pair, so an answer does not say whose request it answers. The class uses these signs, the
// strongest first: the setup of the connection by CM; a UDP source port that only one direction
// each way has (many adapters compute the same port for both directions); the PSNs that were sent
// and the PSNs that are answered; the count of messages (MSN). If more than one direction remains,
// the result has all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wireproof/proto/ib/packet/psn.hpp"

namespace wireproof::capture {

class Pairing {
public:
    /// The largest number of packets that a capture may miss, or by which an answer may be late.
    static constexpr std::int64_t near = 1 << 16;

    /// A way is one direction of a connection. Ways are numbered from 0 in the order of the calls.
    /// All ways from one host to another share a route; route ^ 1 is the opposite route.
    void add(std::size_t route);

    /// Requests with the PSNs from `psn` to before `end`. `ends`: they complete a message.
    struct Sent {
        proto::ib::Psn psn;
        proto::ib::Psn end;
        std::uint16_t port = 0;  // UDP source
        bool ends = false;
    };
    void on_request(std::size_t way, const Sent& sent);

    struct Answer {
        proto::ib::Psn psn;
        std::uint16_t port = 0;                  // UDP source
        bool refuses = false;                    // a NAK or RNR NAK for the packet with this PSN
        std::optional<proto::ib::Msn> msn = {};  // set if it belongs to this PSN
    };
    struct Answered {
        std::optional<std::size_t> way = {};     // the way whose requests are answered
        std::vector<std::size_t> possible = {};  // if not known: the possible ways, if they are few
        bool many = false;                       // there are more possible ways
    };
    Answered on_answer(std::size_t way, const Answer& answer);

    /// Whether the sender of this way goes back to `psn` because of a refusal whose way was not
    /// known. If exactly one such refusal exists, its way and this way are a pair from now on.
    bool was_refused(std::size_t way, proto::ib::Psn psn);

    /// Sets a certain pair, for example from CM. The earlier partners of both become free.
    void pair(std::size_t way, std::size_t other);
    /// The connection has ended: each queue pair may connect to another one.
    void unpair(std::size_t way);

    std::optional<std::size_t> peer_of(std::size_t way) const { return ways_[way].peer; }

    /// The number of ways that were examined in all searches, for tests: only a small number for
    /// each answer, even with many queue pairs.
    std::uint64_t looked_at() const { return looked_at_; }

private:
    static constexpr std::size_t few = 16;
    static constexpr std::size_t recent_max = 64;
    struct Recent {
        proto::ib::Psn psn;
        bool used = false;
        std::uint32_t messages = 0;  // number of messages complete with this packet
    };
    struct Way {
        std::size_t route = 0;
        std::optional<std::size_t> peer = {};
        bool certain = false;  // the peer is certain, even if PSNs differ
        std::optional<std::uint16_t> port = {};
        // State as a sender of requests.
        std::optional<proto::ib::Psn> first = {};  // first seen
        proto::ib::Psn next = {};                  // after all that was sent
        std::uint32_t messages = 0;                // number of complete messages
        std::array<Recent, recent_max> recent = {};
        // State as a sender of answers.
        std::vector<std::size_t> candidates = {};    // while there are few
        std::optional<proto::ib::Psn> refused = {};  // PSN of a refusal whose way is not known
    };
    struct Route {
        std::unordered_set<std::size_t> unpaired;  // ways that sent requests
        std::unordered_map<std::uint32_t, std::unordered_set<std::size_t>> by_psn;  // of these ways
        std::unordered_map<std::uint16_t, std::unordered_set<std::size_t>> by_port;
        /// PSNs of refused requests on this route, with the ways that sent the refusals.
        std::unordered_map<std::uint32_t, std::vector<std::size_t>> refusals;
    };

    void note_port(std::size_t way, std::uint16_t port);
    void note_recent(std::size_t way, const Sent& sent);
    /// Adds the way to the indices for the search. Ways with a peer are not in them.
    void list(std::size_t way);
    void unlist(std::size_t way);
    void note_refusal(std::size_t way, proto::ib::Psn psn);
    void forget_refusal(std::size_t way);
    bool has_sent(const Way& way, proto::ib::Psn psn) const;
    bool counts_as(const Way& way, const Answer& answer) const;
    Answered search(std::size_t way, const Answer& answer);
    std::vector<std::size_t> those_that_sent(std::size_t way, proto::ib::Psn psn, bool& many);
    std::optional<std::size_t> with_port(std::size_t way, const Answer& answer);
    std::optional<std::size_t> nearest(std::size_t route, const Answer& answer);
    void join(std::size_t way, std::size_t other);
    void part(std::size_t way);

    std::vector<Way> ways_;
    std::vector<Route> routes_;
    std::uint64_t looked_at_ = 0;
};

}  // namespace wireproof::capture
