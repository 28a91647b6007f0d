// What a wire carries. A TxFrame is room that a lane lends to an engine; an RxFrame is lent to an
// engine by a wire. Neither owns payload bytes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"

namespace wireproof {

/// A peer, as numbered by the wire's own address table. A two-ended link has only peer 0.
enum class PeerId : std::uint16_t {};

/// Who vouches for the bytes of a received frame.
enum class Integrity : std::uint8_t {
    check,    // nobody: the engine computes its checksum
    intact,   // the carrier does: shared memory, or a simulated cable that did not touch the frame
    damaged,  // a simulated cable that did says what the checksum would have said
};

/// A received frame, lent until the next Wire::receive.
struct RxFrame {
    ConstBytes bytes;
    PeerId from{};
    Integrity integrity = Integrity::check;
    /// Payload that a simulated cable carried by reference: it stands in the frame at `lent_at`,
    /// between the bytes above. Empty on every other wire.
    ConstBytes lent{};
    std::size_t lent_at = 0;
    /// This host had no room for frames that came before it, whoever sent them.
    bool after_overrun = false;

    std::size_t size() const { return bytes.size() + lent.size(); }
};

/// What a lane promises of the frames it carries, and how long they may be.
struct LaneCapabilities {
    std::size_t frame_max = 0;    // bytes
    bool carries_intact = false;  // bytes arrive as sent or not at all: no checksum needed
    bool carries_all = false;     // nothing lost, repeated or reordered while the peer lives
    std::size_t copied_max = 0;  // payload up to this size costs less copied than pointed at, bytes
    bool prefers_equal_sizes = false;  // frames of one length, one behind the other, cost far less
};

/// One frame on its way out. Headers and trailers are written in place, in room of the lane's;
/// payload is pointed at, unless the lane prefers a copy, and must stay put until Wire::flush
/// returns.
class TxFrame {
public:
    static constexpr std::size_t pieces_max = 4;

    /// The lane's side: an empty frame whose own bytes go to `room`, at least frame_max bytes.
    void open(Bytes room, const LaneCapabilities& capabilities) {
        room_ = room;
        capabilities_ = capabilities;
        used_ = size_ = count_ = 0;
        resent_ = false;
    }

    /// The next `size` bytes of the frame, to be written now. Asking for more than the room is
    /// ours.
    Bytes add_room(std::size_t size) {
        WIREPROOF_CHECK(used_ + size <= room_.size());
        const Bytes part = room_.subspan(used_, size);
        used_ += size;
        append(part);
        return part;
    }

    /// All bytes of a frame that has none yet, to be written now.
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

    /// The next bytes of the frame, by reference or as a copy.
    void add_payload(ConstBytes payload) {
        if (!copies(payload.size())) return append(payload);
        const Bytes to = add_room(payload.size());
        std::memcpy(to.data(), payload.data(), payload.size());
    }
    /// The same, and counts them into a check, in one pass where they are copied.
    template <class Check>
    void add_payload(ConstBytes payload, Check& check) {
        if (copies(payload.size()))
            return check.add_copying(payload, add_room(payload.size()).data());
        check.add(payload);
        append(payload);
    }

    /// Bytes of zero, for the length.
    void add_filler(std::size_t size) {
        if (size > 0) std::memset(add_room(size).data(), 0, size);
    }

    /// Marks a frame that left before in the same meaning; counted and drawn, never sent.
    void mark_resent() { resent_ = true; }

    bool resent() const { return resent_; }
    bool wants_check() const { return !capabilities_.carries_intact; }
    bool wants_copy() const { return !capabilities_.carries_all; }
    /// Whether it is worth some bytes that say nothing to be as long as the frame before and
    /// behind.
    bool prefers_equal_sizes() const { return capabilities_.prefers_equal_sizes; }
    /// Whether payload of that size would be copied.
    bool copies(std::size_t size) const { return size <= capabilities_.copied_max && size > 0; }
    std::size_t frame_max() const { return capabilities_.frame_max; }
    std::size_t size() const { return size_; }
    std::span<const ConstBytes> pieces() const { return std::span(pieces_).first(count_); }

    /// Copies the whole frame to the front of `to`; returns what was filled.
    Bytes gather(Bytes to) const;

    /// Makes the whole frame stand at the front of the lane's room, for a lane that lends room in
    /// the very place the frame goes to; returns it. What stands there already is not moved, so a
    /// frame without payload costs nothing.
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

/// Room for frames of one length, one behind the other, whose every byte the engine writes.
struct FrameRun {
    Bytes room;  // frames * size bytes
    std::size_t frames = 0;
    std::size_t size = 0;      // of each, bytes
    bool wants_check = false;  // as TxFrame's
};

/// Received frames of one length, one behind the other, that nobody has vouched for. Lent as the
/// frame before them is.
struct RxRun {
    const std::byte* data = nullptr;
    std::uint32_t frames = 0;
    std::uint32_t size = 0;  // of each, bytes

    ConstBytes frame(std::size_t i) const { return {data + i * size, size}; }
};

}  // namespace wireproof
