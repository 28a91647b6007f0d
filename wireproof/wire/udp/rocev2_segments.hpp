// The packets in a super-packet that was captured whole, as the loopback interface shows one, or a
// device that cuts it up itself. A capture does not say how long they are: the ICRCs do.
#pragma once

#include <array>
#include <optional>

#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof {

class Rocev2Segments {
public:
    /// Nothing if the end of the datagram was not captured, or if neither of the first two segments
    /// has a right ICRC.
    static std::optional<Rocev2Segments> of(const Rocev2Datagram& whole);

    std::size_t count() const { return (bytes_.size() + size_ - 1) / size_; }
    /// As the kernel would make it. Points at what `whole` points at, and at this until the next
    /// call.
    Rocev2Datagram at(std::size_t place);

private:
    Rocev2Segments(const Rocev2Datagram& whole, std::size_t size);

    Rocev2Datagram whole_;
    ConstBytes bytes_;  // packets and their ICRCs
    std::size_t size_;  // of each, but for the last
    std::array<std::byte, 48> headers_{};
};

}  // namespace wireproof
