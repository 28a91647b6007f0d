// Finds the events of connections from their packets, for each direction: for each sending host and
// receiving queue pair.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "wireproof/app/capture/capture_walk.hpp"
#include "wireproof/app/capture/cm_pairs.hpp"
#include "wireproof/app/capture/copy_finder.hpp"
#include "wireproof/app/capture/followed_answers.hpp"
#include "wireproof/app/capture/followed_responder.hpp"
#include "wireproof/app/capture/pairing.hpp"
#include "wireproof/app/capture/path_mtu_set.hpp"
#include "wireproof/app/capture/sent_contents.hpp"
#include "wireproof/app/capture/sent_sequence.hpp"

namespace wireproof::capture {

/// One direction of a connection. A packet names only its destination queue pair.
struct Direction {
    Address from;  // without port, because the port of a sender may change
    Address to;
    std::uint32_t queue_pair = 0;
    proto::ib::Transport transport = proto::ib::Transport::rc;
    std::string network = {};  // of a tunnel
    /// Which of the connections that used this queue pair one after the other, from 1.
    std::uint32_t connection = 1;

    /// "198.18.0.2 > 198.18.0.3 qp 000047", of a later connection "… qp 000047 (2)".
    std::string name() const;
};

struct ConnectionEvent {
    std::uint64_t packet = 0;  // its number in the file
    std::size_t direction = 0;
    std::string what;  // begins with gap, nak, rnr, retry, duplicate, abandoned or lost
    /// For a nak or rnr: the direction that is refused, if it is known; otherwise the possible
    /// directions. Both are empty if there are too many or if the refused packet was not captured.
    std::optional<std::size_t> refused = {};
    std::vector<std::size_t> possible = {};
};

class ConnectionEvents {
public:
    struct Followed {
        std::size_t direction = 0;
        /// Not followed: a copy of the packet with this number.
        std::optional<std::uint64_t> copy_of = {};
    };
    /// Call it with each packet that is believed. Directions are numbered from 0 in the order in
    /// which they appear.
    Followed on_packet(const SeenPacket& seen);

    const std::vector<Direction>& directions() const { return directions_; }
    const std::vector<ConnectionEvent>& events() const { return events_; }
    /// The direction with the responses to this direction's requests, as far as it is known now.
    std::optional<std::size_t> answered_by(std::size_t direction) const {
        return pairing_.peer_of(direction);
    }
    const Pairing& pairing() const { return pairing_; }

private:
    using Host = std::array<std::uint8_t, 16>;
    /// Sender, receiver, network and transport of a route. A route and a queue pair make a
    /// direction.
    using RouteKey = std::tuple<Host, Host, std::string, proto::ib::Transport>;
    struct Key {
        std::size_t route = 0;
        std::uint32_t queue_pair = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct State {
        SentSequence sent;
        SentContents contents;
        FollowedResponder responder;
        FollowedAnswers answers;  // to the requests of this direction
        PathMtuSet path_mtus;
        std::int64_t longest_read = 0;  // in PSNs
        bool ended = false;             // the next packet belongs to another connection
    };
    /// The settings that CM announced for a direction before its first packet.
    struct Announced {
        proto::ib::Psn psn = {};
        std::optional<std::size_t> path_mtu = {};
        Key peer = {};
    };

    std::size_t route_of(const Address& from, const Address& to, const std::string& network,
                         proto::ib::Transport transport);
    std::size_t direction_of(const SeenPacket& seen);
    bool ends_before(const SeenPacket& seen, std::size_t direction) const;
    std::size_t add_direction(const SeenPacket& seen, const Key& key, std::uint32_t connection);
    void follow(const SeenPacket& seen, std::size_t direction, bool logged_twice);
    void connect(const ConnectedPair& pair);
    void begin(std::size_t direction, const Announced& connection);
    void on_request(const SeenPacket& seen, std::size_t direction, bool logged_twice);
    void on_response(const SeenPacket& seen, std::size_t direction);
    void tell_refusal(const SeenPacket& seen, std::size_t direction,
                      const Pairing::Answered& answered);
    void take_refusal(const proto::ib::Packet& refusal, const Pairing::Answered& answered);
    void take_answer(const SeenPacket& seen, std::size_t direction, std::size_t requests);
    void tell(const SeenPacket& seen, std::size_t direction, std::string what);

    std::map<RouteKey, std::size_t> routes_;
    std::map<Key, std::size_t> numbers_;  // of the present connections
    std::map<Key, Announced> announced_;
    CopyFinder copies_;
    CmPairs cm_;
    std::vector<Direction> directions_;
    std::vector<Key> keys_;        // by direction
    std::vector<State> followed_;  // by direction
    Pairing pairing_;              // by direction, too
    std::vector<ConnectionEvent> events_;
};

}  // namespace wireproof::capture
