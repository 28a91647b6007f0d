#include "wireproof/proto/am/bundle.hpp"

#include <cstddef>

namespace wireproof::am {

// Only an entry says where the next one begins, so cache lines that another processor owns would
// arrive one by one. If most lines have no entry, the handlers may not need them, and nothing is
// fetched.
bool BundleRange::are_right(std::size_t message_max) const {
    constexpr std::ptrdiff_t line = 64;
    if (left_ == 0) return false;
    if (end_ - at_ <= left_ * line) {
        for (const std::byte* at = at_ + line; at < end_; at += line) __builtin_prefetch(at);
    }
    BundleRange ahead = *this;
    while (ahead.left_ > 0) {
        if (!ahead.next(message_max)) return false;
    }
    return ahead.at_ == end_;
}

}  // namespace wireproof::am
