// Packs frames into a datagram, and takes them out of a received one. The packer's constructor
// allocates memory for the longest datagram.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/wire/sequenced/datagram_header.hpp"

namespace wireproof {

class FramePacker {
public:
    explicit FramePacker(std::size_t datagram_max)
        : datagram_max_(datagram_max), frames_(datagram_max), lengths_(datagram_max) {}

    std::size_t frames() const { return count_; }
    bool empty() const { return count_ == 0; }
    bool resent() const { return resent_; }

    /// Whether a frame of `size` bytes fits. Unless it is the first frame, the datagram may have at
    /// most `most` bytes.
    bool has_room(std::size_t size, std::size_t most) const {
        const std::size_t limit = empty() ? datagram_max_ : std::min(datagram_max_, most);
        return count_ < DatagramHeader::frame_limit &&
               DatagramHeader::size(count_ + 1) + used_ + size <= limit;
    }

    void add(const TxFrame& frame) {
        WIREPROOF_CHECK(has_room(frame.size(), datagram_max_));
        store_le<std::uint16_t>(Bytes(lengths_)
                                    .subspan(count_ * DatagramHeader::length_size)
                                    .first<DatagramHeader::length_size>(),
                                static_cast<std::uint16_t>(frame.size()));
        frame.gather(Bytes(frames_).subspan(used_));
        ++count_;
        used_ += frame.size();
        resent_ = resent_ || frame.resent();
    }

    /// Writes the datagram and starts the next one.
    void close(DatagramHeader header, TxFrame& out) {
        header.frames = static_cast<std::uint16_t>(count_);
        header.encode(ConstBytes(lengths_).first(count_ * DatagramHeader::length_size),
                      out.add_room(DatagramHeader::size(count_)));
        std::copy_n(frames_.begin(), used_, out.add_room(used_).begin());
        if (resent_) out.mark_resent();
        clear();
    }

    void clear() {
        count_ = used_ = 0;
        resent_ = false;
    }

private:
    std::size_t datagram_max_;
    std::vector<std::byte> frames_;
    std::vector<std::byte> lengths_;  // as on the wire
    std::size_t count_ = 0;
    std::size_t used_ = 0;
    bool resent_ = false;
};

/// Takes the frames out of a datagram without copying them: the datagram must stay valid.
class FrameUnpacker {
public:
    FrameUnpacker() = default;
    FrameUnpacker(const DatagramHeader& header, ConstBytes datagram)
        : lengths_(datagram.subspan(DatagramHeader::fixed_size)),
          frames_(datagram.subspan(DatagramHeader::size(header.frames))),
          left_(header.frames) {}

    std::size_t left() const { return left_; }

    /// Nothing: the datagram ends before the end of the next frame. The frames after it are
    /// missing, too.
    std::optional<ConstBytes> next() {
        WIREPROOF_CHECK(left_ > 0);
        const std::size_t length =
            load_le<std::uint16_t>(lengths_.first<DatagramHeader::length_size>());
        if (length > frames_.size()) return std::nullopt;
        const ConstBytes frame = frames_.first(length);
        lengths_ = lengths_.subspan(DatagramHeader::length_size);
        frames_ = frames_.subspan(length);
        --left_;
        return frame;
    }
    void drop_rest() { left_ = 0; }

private:
    ConstBytes lengths_;
    ConstBytes frames_;
    std::size_t left_ = 0;
};

}  // namespace wireproof
