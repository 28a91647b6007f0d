// A file descriptor with one owner, which closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace wireproof {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int handle) : handle_(handle) {}

    Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Descriptor() { close(); }

    int handle() const { return handle_; }
    bool is_open() const { return handle_ >= 0; }
    void close() {
        if (handle_ >= 0) ::close(std::exchange(handle_, -1));
    }

private:
    int handle_ = -1;
};

}  // namespace wireproof
