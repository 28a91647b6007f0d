// Memory with a descriptor and without a name: it vanishes with its last holder. It is sealed
// against changes of size. Memory of a peer is accepted only with that seal, so that no peer can
// shorten it while this process uses it (SIGBUS).
#pragma once

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof {

/// A range of addresses of this process. The destructor unmaps it.
class Mapping {
public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, Bytes())) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping();

    /// Maps all of the descriptor's memory.
    static Expected<Mapping> of(const Descriptor& memory, std::size_t size, bool writable);

    /// Reserves addresses without memory. An access to them ends the process.
    static Expected<Mapping> reserve(std::size_t size);

    /// Maps a part of the memory at reserved addresses. All numbers are multiples of a page.
    struct Part {
        std::size_t at = 0;    // in the reserved addresses
        std::size_t from = 0;  // in the memory
        std::size_t size = 0;
    };
    Expected<void> place(const Descriptor& memory, const Part& part);

    /// For a forked child: puts zeroed memory at the same addresses, which no other process sees.
    void abandon();

    Bytes bytes() const { return bytes_; }
    bool is_open() const { return !bytes_.empty(); }

private:
    explicit Mapping(Bytes bytes) : bytes_(bytes) {}

    Bytes bytes_;
};

std::size_t page_bytes();

/// Zeroed memory, allocated at once: if memory is short, this call fails, and there is no signal
/// later.
Expected<Descriptor> make_sealed_memory(const char* name, std::size_t size);

/// Whether the memory has at least `size` bytes and is sealed, so that it keeps them.
Expected<void> check_sealed_memory(const Descriptor& memory, std::size_t size);

/// The same memory for a process that must not write to it. This keeps a process of another user
/// from writing, and from opening the memory anew. A process of the same user, or of root, can
/// still change the permissions. F_SEAL_FUTURE_WRITE would prevent that, but it would also keep the
/// peers from writing that get the memory with that right.
Expected<Descriptor> read_only(const Descriptor& memory);

}  // namespace wireproof
