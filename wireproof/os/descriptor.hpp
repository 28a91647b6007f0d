// A file descriptor with one owner, which closes it.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace wireproof {

class Descriptor {
public:
    Descriptor() = default;
    /// Negative: none, as after a system call that failed.
    explicit Descriptor(int handle) : handle_(handle) {}

    Descriptor(Descriptor&& other) noexcept : handle_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        Descriptor(std::move(other)).swap(*this);
        return *this;
    }
    ~Descriptor() { close(); }

    int handle() const { return handle_; }
    bool is_open() const { return handle_ >= 0; }

    /// The caller has to close it.
    int release() { return std::exchange(handle_, -1); }
    /// Returns the error with which the kernel closed it; 0: none. errno stays, so that a caller
    /// can tell later why another call failed.
    int close() {
        if (!is_open()) return 0;
        const int before = errno;
        const int error = ::close(release()) == 0 ? 0 : errno;
        errno = before;
        return error;
    }

private:
    void swap(Descriptor& other) { std::swap(handle_, other.handle_); }

    int handle_ = -1;
};

}  // namespace wireproof
