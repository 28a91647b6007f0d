// A bounded first-in first-out queue. It allocates its memory once, at construction.
#pragma once

#include <cstddef>
#include <vector>

#include "wireproof/base/check.hpp"

namespace wireproof {

/// Copyable if T is copyable. Index 0 is the oldest element.
template <class T>
class Ring {
public:
    explicit Ring(std::size_t capacity) : capacity_(capacity), slots_(capacity) {}

    std::size_t capacity() const { return capacity_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    bool full() const { return size_ == capacity_; }

    T& push(T value) {
        T& place = add();
        place = std::move(value);
        return place;
    }
    /// Adds a last element and returns it, for the caller to fill in place. The element still has
    /// its old content.
    T& add() {
        WIREPROOF_CHECK(!full());
        return slots_[wrapped(first_ + size_++)];
    }

    void pop() { pop(1); }
    void pop(std::size_t count) {
        WIREPROOF_CHECK(count <= size_);
        first_ = wrapped(first_ + count);
        size_ -= count;
    }

    /// The ring begins at its first slot again, so that light traffic uses few cache lines.
    void clear() { first_ = size_ = 0; }

    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }
    T& back() { return slots_[place_of_back()]; }
    const T& back() const { return slots_[place_of_back()]; }

    T& operator[](std::size_t index) {
        WIREPROOF_CHECK(index < size_);
        return slots_[wrapped(first_ + index)];
    }
    const T& operator[](std::size_t index) const {
        WIREPROOF_CHECK(index < size_);
        return slots_[wrapped(first_ + index)];
    }

private:
    std::size_t place_of_back() const {
        WIREPROOF_CHECK(size_ > 0);
        return wrapped(first_ + size_ - 1);
    }
    std::size_t wrapped(std::size_t i) const { return i < capacity_ ? i : i - capacity_; }

    std::size_t capacity_;
    std::vector<T> slots_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace wireproof
