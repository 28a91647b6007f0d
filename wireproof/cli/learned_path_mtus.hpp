// The path MTUs of a capture, which no packet names: but those that begin or continue a message
// fill theirs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "wireproof/proto/ib/packet.hpp"
#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof::cli {

class LearnedPathMtus {
public:
    LearnedPathMtus() = default;
    /// Of a whole capture; one that is damaged teaches as far as it can be read. Throws Failure if
    /// there is none.
    explicit LearnedPathMtus(const std::string& path);

    void learn(const Rocev2Datagram& datagram, const ib::Packet& packet);

    /// Between two hosts, either way; that of Ethernet if nothing showed it.
    std::size_t between(const Address& one, const Address& other) const;

private:
    using Host = std::array<std::uint8_t, 16>;
    static std::pair<Host, Host> pair_of(const Address& one, const Address& other);

    std::map<std::pair<Host, Host>, std::size_t> largest_;
};

}  // namespace wireproof::cli
