// What happens to connections, told from their packets as they pass: per direction, that is, per
// sending host and receiving queue pair.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "wireproof/cli/capture_walk.hpp"
#include "wireproof/cli/followed_responder.hpp"
#include "wireproof/cli/learned_path_mtus.hpp"
#include "wireproof/cli/sent_sequence.hpp"

namespace wireproof::cli {

/// One direction of a connection. A packet names only the queue pair it goes to.
struct Direction {
    Address from;  // without port: that of a sender need not stay the same
    Address to;
    std::uint32_t queue_pair = 0;
    ib::Transport transport = ib::Transport::rc;

    /// "198.18.0.2 > 198.18.0.3 qp 000047"
    std::string name() const;
};

struct ConnectionEvent {
    std::uint64_t packet = 0;  // its number in the file
    std::size_t direction = 0;
    std::string what;  // begins with gap, nak, rnr, retry, duplicate or abandoned
};

class ConnectionEvents {
public:
    ConnectionEvents() = default;
    explicit ConnectionEvents(LearnedPathMtus path_mtus) : path_mtus_(std::move(path_mtus)) {}

    /// Takes a packet that arrived whole; returns the number of its direction, from 0. Numbers are
    /// given in the order in which directions appear.
    std::size_t on_packet(const SeenPacket& seen);

    const std::vector<Direction>& directions() const { return directions_; }
    const std::vector<ConnectionEvent>& events() const { return events_; }

private:
    using Key = std::tuple<std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>,
                           std::uint32_t, ib::Transport>;

    std::size_t direction_of(const SeenPacket& seen);
    void on_acknowledge(const SeenPacket& seen, std::size_t direction);
    void on_request(const SeenPacket& seen, std::size_t direction);
    void on_response(const SeenPacket& seen, std::size_t direction);
    /// The direction whose requests the responses of this one answer; nothing: it was not seen.
    std::optional<std::size_t> answered_by(std::size_t direction, ib::Psn psn) const;
    void tell(const SeenPacket& seen, std::size_t direction, std::string what);

    LearnedPathMtus path_mtus_;
    std::map<Key, std::size_t> numbers_;
    std::vector<Direction> directions_;
    // By direction.
    std::vector<SentSequence> sent_;
    std::vector<FollowedResponder> responders_;
    std::vector<ConnectionEvent> events_;
};

}  // namespace wireproof::cli
