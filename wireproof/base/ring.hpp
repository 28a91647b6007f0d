// A bounded first-in first-out queue whose memory is taken once, at construction.
#pragma once

#include <cstddef>
#include <vector>

#include "wireproof/base/check.hpp"

namespace wireproof {

/// Copyable where T is. Indexes count from the oldest element.
template <class T>
class Ring {
public:
    explicit Ring(std::size_t capacity) : slots_(capacity) {}

    std::size_t capacity() const { return slots_.size(); }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    bool full() const { return size_ == slots_.size(); }

    T& push(T value) {
        WIREPROOF_CHECK(!full());
        T& place = slots_[wrapped(first_ + size_)];
        place = std::move(value);
        ++size_;
        return place;
    }

    void pop() {
        WIREPROOF_CHECK(!empty());
        first_ = wrapped(first_ + 1);
        --size_;
    }

    void clear() { size_ = 0; }

    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }
    T& back() { return (*this)[size_ - 1]; }
    const T& back() const { return (*this)[size_ - 1]; }

    T& operator[](std::size_t index) {
        WIREPROOF_CHECK(index < size_);
        return slots_[wrapped(first_ + index)];
    }
    const T& operator[](std::size_t index) const {
        WIREPROOF_CHECK(index < size_);
        return slots_[wrapped(first_ + index)];
    }

private:
    std::size_t wrapped(std::size_t i) const { return i < slots_.size() ? i : i - slots_.size(); }

    std::vector<T> slots_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace wireproof
