// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace wireproof::host {

class OwnedHandle {
public:
    OwnedHandle() = default;
    explicit OwnedHandle(int handle) : handle_(handle) {}
    OwnedHandle(OwnedHandle&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    OwnedHandle& operator=(OwnedHandle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~OwnedHandle() {
        if (handle_ >= 0) ::close(handle_);
    }

    int operator*() const { return handle_; }
    explicit operator bool() const { return handle_ >= 0; }
    void close() { *this = OwnedHandle(); }

private:
    int handle_ = -1;
};

}  // namespace wireproof::host
