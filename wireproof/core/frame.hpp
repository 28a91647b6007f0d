// What a wire carries. A TxFrame is room that a lane lends to an engine. An RxFrame is a received
// frame that a wire lends to an engine. Neither owns payload bytes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"

namespace wireproof {

/// The number of a peer in the wire's address table. A link with two ends has only peer 0.
enum class PeerId : std::uint16_t {};

/// Whether the engine must check the bytes of a received frame.
enum class Integrity : std::uint8_t {
    check,    // unknown: the engine computes its checksum
    intact,   // the carrier guarantees it: shared memory, or a cable that did not touch the frame
    damaged,  // a simulated cable damaged the frame: the engine acts as if a checksum were wrong
};

/// A received frame, valid until the next Wire::receive. On shared memory its sender may be able to
/// change it meanwhile: a wire says so (ShmWire::Config::lends_ring).
struct RxFrame {
    ConstBytes bytes;
    PeerId from{};
    Integrity integrity = Integrity::check;
    /// Payload that a simulated cable carries by reference. It belongs in the frame at `lent_at`,
    /// between the bytes above. Empty on every other wire.
    ConstBytes lent{};
    std::size_t lent_at = 0;
    /// This host had no room for frames that came before this one, from any peer.
    bool after_overrun = false;
    /// A router marked the frame instead of dropping it, because its queue is long (ECN, RFC 3168).
    bool marked = false;
    /// Of a damaged frame: so many bytes at its beginning are known to be as they were sent.
    std::size_t intact_front = 0;

    std::size_t size() const { return bytes.size() + lent.size(); }
};

/// What a lane guarantees for the frames that it carries, and their maximum length.
struct LaneCapabilities {
    std::size_t frame_max = 0;         // bytes
    bool carries_intact = false;       // a frame arrives as sent or not at all: no checksum needed
    bool carries_all = false;          // nothing lost, repeated or reordered while the peer lives
    std::size_t copied_max = 0;        // bytes; up to this size, a copy is cheaper than a reference
    bool prefers_equal_sizes = false;  // consecutive frames of one length cost far less
};

/// A frame to send. The engine writes headers and trailers in place, into the lane's room. The
/// frame refers to its payload, unless the lane prefers a copy. Such payload must not change until
/// Wire::flush returns.
class TxFrame {
public:
    static constexpr std::size_t pieces_max = 4;

    /// For the lane: begins an empty frame. What the engine writes goes to `room`, which has at
    /// least frame_max bytes.
    void open(Bytes room, const LaneCapabilities& capabilities) {
        room_ = room;
        capabilities_ = capabilities;
        used_ = size_ = count_ = 0;
        resent_ = false;
    }

    /// Returns the next `size` bytes of the frame, which the engine must write now. An engine that
    /// asks for more than the room has is defective, and the program stops.
    Bytes add_room(std::size_t size) {
        WIREPROOF_CHECK(used_ + size <= room_.size());
        const Bytes part = room_.subspan(used_, size);
        used_ += size;
        append(part);
        return part;
    }

    /// Returns all bytes of a frame that is still empty. The engine must write them now.
    Bytes add_all(std::size_t size) {
        WIREPROOF_CHECK(size_ == 0 && size <= room_.size() && size <= capabilities_.frame_max);
        used_ = size_ = size;
        count_ = 1;
        const Bytes all = room_.first(size);
        pieces_[0] = all;
        return all;
    }

    template <std::size_t N>
    std::span<std::byte, N> add_header() {
        return std::span<std::byte, N>(add_room(N));
    }

    /// Adds the next bytes of the frame, by reference or as a copy.
    void add_payload(ConstBytes payload) {
        if (!copies(payload.size())) return append(payload);
        const Bytes to = add_room(payload.size());
        std::memcpy(to.data(), payload.data(), payload.size());
    }
    /// The same, and adds the bytes to a check. If the bytes are copied, one pass does both.
    template <class Check>
    void add_payload(ConstBytes payload, Check& check) {
        if (copies(payload.size()))
            return check.add_copying(payload, add_room(payload.size()).data());
        check.add(payload);
        append(payload);
    }

    /// Adds bytes of zero that only make the frame longer.
    void add_filler(std::size_t size) {
        if (size > 0) std::memset(add_room(size).data(), 0, size);
    }

    /// Marks the frame as a retransmission. The mark is for counters and drawings; it is not sent.
    void mark_resent() { resent_ = true; }

    bool resent() const { return resent_; }
    bool wants_check() const { return !capabilities_.carries_intact; }
    bool wants_copy() const { return !capabilities_.carries_all; }
    /// Whether the engine should add filler so that the frame is as long as the frames before and
    /// after it.
    bool prefers_equal_sizes() const { return capabilities_.prefers_equal_sizes; }
    /// Whether payload of this size is copied.
    bool copies(std::size_t size) const { return size <= capabilities_.copied_max && size > 0; }
    std::size_t frame_max() const { return capabilities_.frame_max; }
    std::size_t size() const { return size_; }
    std::span<const ConstBytes> pieces() const { return std::span(pieces_).first(count_); }

    /// Copies the whole frame to the front of `to` and returns the part that it filled.
    Bytes gather(Bytes to) const;

    /// Puts the whole frame at the front of the lane's room and returns it. It is for a lane whose
    /// room is the place to which the frame goes. Bytes that are in place do not move, so a frame
    /// without payload costs nothing.
    Bytes gather_in_place() {
        if (size_ != used_) gather_pieces();
        return room_.first(size_);
    }

    /// Bytes of the room that may have been written.
    std::size_t room_used() const { return used_; }

private:
    void gather_pieces();
    void append(ConstBytes part) {
        size_ += part.size();
        WIREPROOF_CHECK(size_ <= capabilities_.frame_max);
        if (count_ > 0) {
            ConstBytes& last = pieces_[count_ - 1];
            if (last.data() + last.size() == part.data()) {
                last = ConstBytes(last.data(), last.size() + part.size());
                return;
            }
        }
        if (part.empty()) return;
        WIREPROOF_CHECK(count_ < pieces_max);
        pieces_[count_++] = part;
    }

    Bytes room_;
    LaneCapabilities capabilities_;
    std::size_t used_ = 0;
    std::size_t size_ = 0;
    std::size_t count_ = 0;
    std::array<ConstBytes, pieces_max> pieces_{};
    bool resent_ = false;
};

/// Room for consecutive frames of one length. The engine writes every byte.
struct FrameRun {
    Bytes room;  // frames * size bytes
    std::size_t frames = 0;
    std::size_t size = 0;      // of each, bytes
    bool wants_check = false;  // as TxFrame::wants_check
};

/// Consecutive received frames of one length, which the engine must check (Integrity::check). They
/// are valid as long as the frame before them.
struct RxRun {
    const std::byte* data = nullptr;
    std::uint32_t frames = 0;
    std::uint32_t size = 0;  // of each, bytes

    ConstBytes frame(std::size_t i) const { return {data + i * size, size}; }
};

}  // namespace wireproof
