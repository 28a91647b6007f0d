// Memory that one peer has shared with this node, and the copies into and out of it. If the memory
// is in an allocation, the copy goes through a mapping. Otherwise the kernel copies from process to
// process. If that is not possible either, the caller sends frames.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <map>

#include "wireproof/wire/shm/counters.hpp"
#include "wireproof/wire/shm/memory_gate.hpp"
#include "wireproof/wire/shm/messages.hpp"
#include "wireproof/wire/shm/sealed_memory.hpp"

namespace wireproof {

class PeerMemory {
public:
    /// The process that has the memory. A pid may mean another process in another container, so the
    /// kernel copies only after the nonce has been found at its address.
    struct Process {
        pid_t pid = 0;
        std::uint64_t nonce = 0;
        std::uint64_t nonce_address = 0;
    };

    /// How much this process maps of one peer. What is beyond it, the kernel copies, or frames
    /// carry it.
    struct Limits {
        std::size_t mappings = allocations_max;
        std::uint64_t bytes = std::uint64_t{1} << 45;

        /// The same for each of `peers`: one peer cannot take the share of another. The kernel
        /// permits a process 65,530 mappings and 2^47 bytes of addresses.
        static Limits of_each(std::size_t peers);
    };
    static constexpr std::size_t regions_max = 65'536;
    static constexpr std::size_t allocations_max = 1024;

    PeerMemory() = default;
    /// While the gate is closed, the kernel copies nothing. Mapped memory stays valid without it.
    explicit PeerMemory(Process process, MemoryGate gate = {})
        : PeerMemory(process, gate, Limits()) {}
    PeerMemory(Process process, MemoryGate gate, Limits limits)
        : process_(process), gate_(gate), limits_(limits) {}

    pid_t pid() const { return process_.pid; }

    /// Maps the memory and keeps no descriptor: those of a process are few. False: too many for one
    /// peer, or the memory is not as the note says.
    bool add_allocation(const MemoryNote& note, const Descriptor& memory);
    bool has_allocation(std::uint32_t number) const { return allocations_.contains(number); }
    /// False: there is no such number, or a region is in the allocation.
    bool remove_allocation(std::uint32_t number);
    bool add(const ShareNote& note);
    void remove(std::uint64_t address) {
        regions_.erase(address);
        written_ = {};
    }

    /// True: all bytes are copied. The range must be in one region that is shared with that right.
    bool write(std::uint64_t address, ConstBytes source, ShmCounters& counters) {
        if (!written_.holds(address, source.size())) {
            return write_there(address, source, counters);
        }
        std::copy(source.begin(), source.end(), written_.begin + (address - written_.address));
        ++counters.mapped_copies;
        return true;
    }
    bool read(std::uint64_t address, Bytes destination, ShmCounters& counters);
    /// Whether write() would copy these bytes itself, without a call of the kernel.
    bool maps(std::uint64_t address, std::size_t size) {
        if (written_.holds(address, size)) return true;
        const Place place = find(address, size);
        return place.region != nullptr && place.region->writable && mapped(place, true) != nullptr;
    }

private:
    struct Allocation {
        bool writable = false;
        Mapping mapping;  // not open: beyond the limits, or the kernel refused
    };
    struct Place {
        ShareNote* region = nullptr;
        std::uint64_t offset = 0;
    };
    /// A mapped and writable region, up to where the next one begins. A caller that writes to one
    /// region again and again searches for it only once.
    struct Target {
        std::uint64_t address = 0;
        std::size_t bytes = 0;
        std::byte* begin = nullptr;

        bool holds(std::uint64_t at, std::size_t size) const {
            const std::uint64_t offset = at - address;
            return offset < bytes && size <= bytes - offset;
        }
    };
    enum class Way : std::uint8_t { untried, open, closed };

    bool write_there(std::uint64_t address, ConstBytes source, ShmCounters& counters);
    void remember(const ShareNote& region, std::byte* begin);
    Place find(std::uint64_t address, std::size_t size);
    std::byte* mapped(const Place& place, bool writable);
    template <class Call>
    bool kernel_copies(Call call, iovec here, const Place& place, ShmCounters& counters);
    bool may_ask_kernel(std::size_t size);
    bool settle(ssize_t copied, std::size_t size, const Place& place);

    Process process_;
    MemoryGate gate_;
    Limits limits_;
    std::size_t mapped_allocations_ = 0;
    std::uint64_t mapped_bytes_ = 0;
    Way kernel_ = Way::untried;
    Target written_;                              // of the last write, if still valid
    std::map<std::uint64_t, ShareNote> regions_;  // by the user's address
    std::map<std::uint32_t, Allocation> allocations_;
};

}  // namespace wireproof
