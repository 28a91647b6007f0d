// Memory with a descriptor instead of a name: nothing is left when its holders are gone. It is
// sealed against changes of size, and memory from elsewhere is taken only with that seal, so that
// no peer can cut it short under our feet (SIGBUS).
#pragma once

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/wire/shm/descriptor.hpp"

namespace wireproof {

/// Addresses of this process, given back at the end.
class Mapping {
public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, Bytes())) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping();

    /// All of the memory behind the descriptor.
    static Expected<Mapping> of(const Descriptor& memory, std::size_t size, bool writable);

    /// Addresses with nothing behind them yet; touching them is fatal.
    static Expected<Mapping> reserve(std::size_t size);

    /// Puts a part of the memory behind reserved addresses. All sizes are in whole pages.
    struct Part {
        std::size_t at = 0;    // in the reserved addresses
        std::size_t from = 0;  // in the memory
        std::size_t size = 0;
    };
    Expected<void> place(const Descriptor& memory, const Part& part);

    /// In a forked child: zeroed memory of its own in the same place, which nobody else sees.
    void abandon();

    Bytes bytes() const { return bytes_; }
    bool is_open() const { return !bytes_.empty(); }

private:
    explicit Mapping(Bytes bytes) : bytes_(bytes) {}

    Bytes bytes_;
};

std::size_t page_bytes();

/// Zero bytes, all there from the start: too little memory is an error here and not a signal later.
Expected<Descriptor> make_sealed_memory(const char* name, std::size_t size);

/// Whether there are at least `size` bytes that stay.
Expected<void> check_sealed_memory(const Descriptor& memory, std::size_t size);

/// The same memory for somebody who shall not write to it.
Expected<Descriptor> read_only(const Descriptor& memory);

}  // namespace wireproof
