// A large block of zero bytes. Only the pages that are written cost memory, because the system
// provides a page at the first access. The block can be copied, because engines are copied. A copy
// touches all pages.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"

namespace wireproof {

class LazyBytes {
public:
    explicit LazyBytes(std::size_t size)
        : bytes_(static_cast<std::byte*>(std::calloc(size > 0 ? size : 1, 1))), size_(size) {
        WIREPROOF_CHECK(bytes_ != nullptr);
    }
    LazyBytes(const LazyBytes& other) : LazyBytes(other.size_) {
        std::memcpy(bytes_.get(), other.bytes_.get(), size_);
    }
    LazyBytes& operator=(const LazyBytes& other) {
        if (this != &other) *this = LazyBytes(other);
        return *this;
    }
    LazyBytes(LazyBytes&&) noexcept = default;
    LazyBytes& operator=(LazyBytes&&) noexcept = default;
    ~LazyBytes() = default;

    std::size_t size() const { return size_; }
    Bytes bytes() { return {bytes_.get(), size_}; }
    ConstBytes bytes() const { return {bytes_.get(), size_}; }

private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<std::byte, Free> bytes_;
    std::size_t size_;
};

}  // namespace wireproof
