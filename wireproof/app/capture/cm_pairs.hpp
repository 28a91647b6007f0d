// Connections that communication management sets up. Only its messages name both queue pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "wireproof/app/capture/capture_walk.hpp"
#include "wireproof/proto/ib/cm/cm_messages.hpp"

namespace wireproof::capture {

/// Packets from `from` to queue pair `queue_pair` of `to` begin with `psn`.
struct ConnectedEnd {
    Address from = {};
    Address to = {};
    std::uint32_t queue_pair = 0;
    proto::ib::Psn psn = {};
};

struct ConnectedPair {
    ConnectedEnd requester = {};  // the packets that the requester sends
    ConnectedEnd listener = {};   // the packets that the listener sends
    proto::ib::Transport transport = proto::ib::Transport::rc;
    std::optional<std::size_t> path_mtu = {};  // bytes
    std::string network = {};
};

class CmPairs {
public:
    /// Call it with every packet. Returns a pair once, at the reply that accepts it.
    std::optional<ConnectedPair> on_packet(const SeenPacket& seen);

private:
    using Host = std::array<std::uint8_t, 16>;
    struct Requested {
        proto::ib::CmRequest request = {};
        bool answered = false;
    };
    /// By requester, listener, network, and the identifier of the requester.
    std::map<std::tuple<Host, Host, std::string, std::uint32_t>, Requested> requested_;
};

}  // namespace wireproof::capture
