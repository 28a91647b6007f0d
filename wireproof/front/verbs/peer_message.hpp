// What the processes of one host say to each other beside their packets, over a unix socket. Each
// message is decoded from bytes that nobody trusts.
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
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

struct PeerMessage {
    static constexpr std::size_t size = 48;
    enum class Kind : std::uint32_t { hello = 1, welcome, ping, pong };

    Kind kind = Kind::hello;
    bool memory = false;     // hello: it is offered; welcome: it is taken
    std::uint64_t life = 0;  // random, of the sender's device
    Address address;         // of the sender's device

    void encode(std::span<std::byte, size> to) const;
    static std::optional<PeerMessage> decode(ConstBytes from);
};

}  // namespace wireproof::verbs
