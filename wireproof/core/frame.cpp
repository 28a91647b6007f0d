#include "wireproof/core/frame.hpp"

#include <algorithm>

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

}  // namespace wireproof
