// Finds the packets in a super-packet that was captured whole. The loopback interface shows such
// super-packets, and so does a device that cuts them up itself. A capture does not say how long the
// packets are: this class finds the length with which an ICRC is right.
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
    /// The segment as the kernel would make it. It points to the memory of `whole`, and to headers
    /// in this object that are valid until the next call.
    Rocev2Datagram at(std::size_t place);

private:
    Rocev2Segments(const Rocev2Datagram& whole, std::size_t size);

    Rocev2Datagram whole_;
    ConstBytes bytes_;  // packets and their ICRCs
    std::size_t size_;  // of each; the last may be shorter
    std::array<std::byte, 48> headers_{};
};

}  // namespace wireproof
