// Every number here came from a peer. Ranges are checked by subtraction, which cannot overflow. If
// the kernel refuses an address, that is an answer and not an error.
#include "wireproof/wire/shm/peer_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace wireproof {
namespace {

constexpr std::size_t kernel_copy_max = std::size_t{1} << 30;  // bytes; the kernel stops at 2^31

iovec remote(std::uint64_t address, std::size_t size) {
    // An address of another process: only the kernel uses it.
    static_assert(sizeof(void*) == sizeof address);
    iovec part{};
    std::memcpy(&part.iov_base, &address, sizeof address);
    part.iov_len = size;
    return part;
}

}  // namespace

PeerMemory::Limits PeerMemory::Limits::of_each(std::size_t peers) {
    constexpr std::size_t mappings_of_all = 16'384;
    constexpr std::uint64_t bytes_of_all = Limits().bytes;
    peers = std::max<std::size_t>(peers, 1);
    return {.mappings = std::clamp<std::size_t>(mappings_of_all / peers, 1, allocations_max),
            .bytes = bytes_of_all / peers};
}

bool PeerMemory::add_allocation(const MemoryNote& note, const Descriptor& memory) {
    const bool fits = note.allocation != ShareNote::no_allocation && note.bytes > 0 &&
                      allocations_.size() < allocations_max;
    if (!fits || !check_sealed_memory(memory, note.bytes)) return false;
    const auto [place, fresh] =
        allocations_.try_emplace(note.allocation, Allocation{note.writable, {}});
    if (!fresh) return false;
    const bool within =
        mapped_allocations_ < limits_.mappings && note.bytes <= limits_.bytes - mapped_bytes_;
    if (!within) return true;
    auto mapping = Mapping::of(memory, note.bytes, note.writable);
    if (!mapping) return true;
    place->second.mapping = std::move(*mapping);
    ++mapped_allocations_;
    mapped_bytes_ += note.bytes;
    return true;
}

bool PeerMemory::remove_allocation(std::uint32_t number) {
    const bool in_use = std::any_of(regions_.begin(), regions_.end(), [number](const auto& region) {
        return region.second.allocation == number;
    });
    const auto found = allocations_.find(number);
    if (in_use || found == allocations_.end()) return false;
    if (found->second.mapping.is_open()) {
        --mapped_allocations_;
        mapped_bytes_ -= found->second.mapping.bytes().size();
    }
    allocations_.erase(found);
    written_ = {};
    return true;
}

bool PeerMemory::add(const ShareNote& note) {
    if (regions_.size() >= regions_max) return false;
    regions_[note.address] = note;
    written_ = {};
    return true;
}

PeerMemory::Place PeerMemory::find(std::uint64_t address, std::size_t size) {
    auto after = regions_.upper_bound(address);
    if (after == regions_.begin()) return {};
    ShareNote& region = std::prev(after)->second;
    const std::uint64_t offset = address - region.address;
    if (offset > region.bytes || size > region.bytes - offset) return {};
    return {&region, offset};
}

std::byte* PeerMemory::mapped(const Place& place, bool writable) {
    const ShareNote& region = *place.region;
    const auto found = allocations_.find(region.allocation);
    if (found == allocations_.end()) return nullptr;
    const Allocation& allocation = found->second;
    if (writable && !allocation.writable) return nullptr;
    const Bytes whole = allocation.mapping.bytes();
    if (region.offset > whole.size() || region.bytes > whole.size() - region.offset) {
        return nullptr;
    }
    return whole.data() + region.offset + place.offset;
}

// The range ends where the next region begins, and at the last address, because find() would not
// find an address beyond.
void PeerMemory::remember(const ShareNote& region, std::byte* begin) {
    std::uint64_t bytes = region.bytes;
    const auto next = regions_.upper_bound(region.address);
    if (next != regions_.end()) bytes = std::min(bytes, next->first - region.address);
    if (region.address != 0) bytes = std::min(bytes, std::uint64_t{0} - region.address);
    written_ = {region.address, bytes, begin};
}

template <class Call>
bool PeerMemory::kernel_copies(Call call, iovec here, const Place& place, ShmCounters& counters) {
    const MemoryGate::Passage passage(gate_);
    if (!passage.is_open() || !may_ask_kernel(here.iov_len)) return false;
    const iovec there = remote(place.region->memory + place.offset, here.iov_len);
    if (!settle(call(process_.pid, &here, 1, &there, 1, 0), here.iov_len, place)) return false;
    ++counters.private_copies;
    return true;
}

bool PeerMemory::write_there(std::uint64_t address, ConstBytes source, ShmCounters& counters) {
    const Place place = find(address, source.size());
    if (place.region != nullptr && place.region->writable) {
        if (std::byte* const to = mapped(place, true)) {
            remember(*place.region, to - place.offset);
            std::copy(source.begin(), source.end(), to);
            ++counters.mapped_copies;
            return true;
        }
        const iovec from{const_cast<std::byte*>(source.data()), source.size()};
        if (kernel_copies(::process_vm_writev, from, place, counters)) return true;
    }
    ++counters.refused_copies;
    return false;
}

bool PeerMemory::read(std::uint64_t address, Bytes destination, ShmCounters& counters) {
    const Place place = find(address, destination.size());
    if (place.region != nullptr && place.region->readable) {
        if (const std::byte* const from = mapped(place, false)) {
            std::copy_n(from, destination.size(), destination.begin());
            ++counters.mapped_copies;
            return true;
        }
        const iovec to{destination.data(), destination.size()};
        if (kernel_copies(::process_vm_readv, to, place, counters)) return true;
    }
    ++counters.refused_copies;
    return false;
}

bool PeerMemory::may_ask_kernel(std::size_t size) {
    if (kernel_ == Way::untried) {
        kernel_ = Way::closed;
        std::uint64_t found = 0;
        const iovec to{&found, sizeof found};
        const iovec from = remote(process_.nonce_address, sizeof found);
        const bool answered = process_.pid > 0 && ::process_vm_readv(process_.pid, &to, 1, &from, 1,
                                                                     0) == ssize_t{sizeof found};
        if (answered && found == process_.nonce) kernel_ = Way::open;
    }
    return kernel_ == Way::open && size <= kernel_copy_max;
}

// If the kernel refuses such copies, the wire does not ask it again. If a part of a region is
// missing, the wire does not use that region again.
bool PeerMemory::settle(ssize_t copied, std::size_t size, const Place& place) {
    if (copied == static_cast<ssize_t>(size)) return true;
    if (copied < 0 && (errno == EPERM || errno == ESRCH || errno == ENOSYS)) {
        kernel_ = Way::closed;
    } else {
        remove(place.region->address);
    }
    return false;
}

}  // namespace wireproof
