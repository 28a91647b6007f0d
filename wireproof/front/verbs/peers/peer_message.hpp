// The messages that the processes of one host exchange over a unix socket, beside their packets.
// The sender of a message is not trusted.
//
//      the caller                               the called process
//      hello, an end of a socket pair  ─────►   same user? not known yet?
//                                      ◄─────   welcome; memory: it keeps that end for ShmWire
//      ping, when answers are overdue  ─────►
//                                      ◄─────   pong: it is not stopped
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::verbs {

struct PeerMessage {
    static constexpr std::size_t size = 48;
    enum class Kind : std::uint32_t { hello = 1, welcome, ping, pong };

    Kind kind = Kind::hello;
    bool memory = false;     // hello: the sender offers memory; welcome: the sender takes it
    std::uint64_t life = 0;  // random number of the sender's device
    Address address;         // of the sender's device

    void encode(std::span<std::byte, size> to) const;
    static std::optional<PeerMessage> decode(ConstBytes from);
};

}  // namespace wireproof::verbs
