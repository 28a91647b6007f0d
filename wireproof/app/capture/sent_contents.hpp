// What the packets of one direction contained, by their PSN. A sender that sends a PSN again sends
// the same message again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wireproof/app/capture/capture_walk.hpp"

namespace wireproof::capture {

class SentContents {
public:
    enum class Again : std::uint8_t {
        not_known,  // the capture has no earlier packet with this PSN
        same,
        /// The same message with another payload. The sender's memory has changed, or the message
        /// is a new one.
        other_payload,
        /// Another opcode, length or extended header.
        other_message,
    };
    /// Compares a request with the last one with its PSN, as far as the capture has both.
    Again compare(const SeenPacket& seen) const;
    void note(const SeenPacket& seen);

private:
    struct Content {
        bool used = false;
        std::uint8_t opcode = 0;
        std::uint16_t captured = 0;  // bytes of the payload and its pad
        std::uint64_t place = 0;
        std::uint32_t size = 0;  // of the packet
        std::uint64_t headers = 0;
        std::uint64_t payload = 0;
    };
    Content content_of(const SeenPacket& seen) const;
    /// A PSN that does not begin again after the highest one.
    std::uint64_t place_of(proto::ib::Psn psn) const;

    /// By place modulo the size. It grows while packets with near PSNs do not fit.
    std::vector<Content> contents_;
    proto::ib::Psn last_ = {};  // noted
    std::uint64_t last_place_ = std::uint64_t{1} << 32;
};

}  // namespace wireproof::capture
