#include "wireproof/core/frame.hpp"

#include <algorithm>
#include <cstring>

namespace wireproof {

Bytes TxFrame::gather(Bytes to) const {
    WIREPROOF_CHECK(size_ <= to.size());
    std::size_t at = 0;
    for (const ConstBytes piece : pieces()) {
        std::copy(piece.begin(), piece.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
        at += piece.size();
    }
    return to.first(size_);
}

// Works from the last piece to the first. A piece in the room only moves towards the end, past
// payload before it. Its new place begins where all earlier pieces end.
void TxFrame::gather_pieces() {
    WIREPROOF_CHECK(size_ <= room_.size());
    std::size_t at = size_;
    for (std::size_t i = count_; i-- > 0;) {
        const ConstBytes piece = pieces_[i];
        at -= piece.size();
        std::byte* const to = room_.data() + at;
        if (piece.data() != to) std::memmove(to, piece.data(), piece.size());
    }
}

}  // namespace wireproof
