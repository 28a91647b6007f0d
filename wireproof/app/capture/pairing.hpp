// Which direction of a connection answers which. A packet names only the queue pair it goes to, so
// an answer does not say whose request it answers: that is learnt from what there is. From the
// strongest on: a connection's set-up by CM; a UDP source port that one direction of each way has
// alone (many adapters compute the same one for both); the PSNs that were sent and the ones that
// are answered; the count of messages (MSN). Where more than one direction remains, all are named.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wireproof/proto/ib/psn.hpp"

namespace wireproof::capture {

class Pairing {
public:
    /// Ways are numbered from 0 in the order of adding. A route is what all ways between the same
    /// hosts in the same direction share; route ^ 1 is the opposite one.
    void add(std::size_t route);

    /// Requests that take the PSNs from `psn` to before `end`. `ends`: a message is complete.
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
        bool refuses = false;                    // a NAK or RNR NAK, of the packet with this PSN
        std::optional<proto::ib::Msn> msn = {};  // where it belongs to this PSN
    };
    struct Answered {
        std::optional<std::size_t> way = {};     // whose requests they are
        std::vector<std::size_t> possible = {};  // otherwise these, if they are few
        bool many = false;                       // or more than that
    };
    Answered on_answer(std::size_t way, const Answer& answer);

    /// Whether the sender of this way, which goes back to `psn`, was asked to by a refusal that
    /// could not be attributed. If only one was, the two are a pair from now on.
    bool was_refused(std::size_t way, proto::ib::Psn psn);

    /// Known for sure, as from CM. Whatever either was paired with is free again.
    void pair(std::size_t way, std::size_t other);
    /// The connection has ended: either queue pair may meet another one.
    void unpair(std::size_t way);

    std::optional<std::size_t> peer_of(std::size_t way) const { return ways_[way].peer; }

    /// How many ways were looked at in search of the right one, for tests: no more than a small
    /// number for each answer, however many queue pairs there are.
    std::uint64_t looked_at() const { return looked_at_; }

private:
    static constexpr std::size_t few = 16;
    static constexpr std::size_t recent_max = 64;
    /// What a capture may have missed, or a delayed answer be late, in packets.
    static constexpr std::int64_t near = 1 << 16;

    struct Recent {
        proto::ib::Psn psn;
        bool used = false;
        std::uint32_t messages = 0;  // complete with this packet
    };
    struct Way {
        std::size_t route = 0;
        std::optional<std::size_t> peer = {};
        bool certain = false;  // the peer is, whatever PSNs say
        std::optional<std::uint16_t> port = {};
        // As a sender of requests.
        std::optional<proto::ib::Psn> first = {};  // seen
        proto::ib::Psn next = {};                  // behind all that was sent
        std::uint32_t messages = 0;                // complete
        std::array<Recent, recent_max> recent = {};
        // As a sender of answers.
        std::vector<std::size_t> candidates = {};    // while they are few
        std::optional<proto::ib::Psn> refused = {};  // and not attributed
    };
    struct Route {
        std::unordered_set<std::size_t> unpaired;  // that sent requests
        std::unordered_map<std::uint32_t, std::unordered_set<std::size_t>> by_psn;  // of those
        std::unordered_map<std::uint16_t, std::unordered_set<std::size_t>> by_port;
        /// Refusals of requests on this route by the ways that sent them.
        std::unordered_map<std::uint32_t, std::vector<std::size_t>> refusals;
    };

    void note_port(std::size_t way, std::uint16_t port);
    void note_recent(std::size_t way, const Sent& sent);
    /// Among those that answers are searched for in, which no paired one is.
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
