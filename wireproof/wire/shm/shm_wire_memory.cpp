// Reaches a peer's memory with one copy, and lets peers reach the memory of this node.
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <functional>

#include "wireproof/base/overlap.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof {
namespace {

constexpr std::size_t much = 16 * 1024;  // bytes of a copy that a missing line would delay

// Numbers begin at 1. Each allocation has two: one to read it, one to also write to it.
std::uint32_t allocation_number(std::size_t index, bool writable) {
    return static_cast<std::uint32_t>(2 * index + (writable ? 2 : 1));
}

bool lies_within(ConstBytes part, ConstBytes whole) {
    const std::less_equal<> not_after;
    return not_after(whole.data(), part.data()) &&
           not_after(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace

Expected<Bytes> ShmWire::allocate_shared(std::size_t bytes) {
    const std::size_t page = page_bytes();
    constexpr std::size_t most = std::size_t{1} << 46;
    if (bytes == 0 || bytes > most) {
        return unexpected("shm wire: cannot share " + std::to_string(bytes) + " bytes");
    }
    const std::size_t size = (bytes + page - 1) / page * page;
    auto memory = make_sealed_memory("wireproof-shared", size);
    if (!memory) return tl::unexpected(memory.error());
    auto mapping = Mapping::of(*memory, size, true);
    if (!mapping) return tl::unexpected(mapping.error());
    OwnAllocation allocation;
    if (auto reopened = read_only(*memory)) allocation.read_only = std::move(*reopened);
    allocation.memory = std::move(*memory);
    allocation.mapping = std::move(*mapping);
    allocation.lent = bytes;
    const Bytes result = allocation.mapping.bytes().first(bytes);
    allocations_.push_back(std::move(allocation));
    return result;
}

bool ShmWire::free_shared(Bytes memory) {
    const auto found =
        std::find_if(allocations_.begin(), allocations_.end(), [&](const OwnAllocation& one) {
            return one.mapping.is_open() && one.mapping.bytes().data() == memory.data() &&
                   one.lent == memory.size();
        });
    if (found == allocations_.end()) return false;
    const Bytes whole = found->mapping.bytes();
    for (const ShmPeer& peer : peers_) {
        const bool in_use = std::any_of(peer.ours.begin(), peer.ours.end(), [&](const auto& ours) {
            const Bytes region = ours.second.memory;
            return lies_within(region, whole) || overlap(region, whole);
        });
        if (in_use) return false;
    }
    const auto index = static_cast<std::size_t>(found - allocations_.begin());
    for (ShmPeer& peer : peers_) {
        for (const bool writable : {false, true}) {
            const std::uint32_t number = allocation_number(index, writable);
            if (peer.told_allocations.erase(number) == 0) continue;
            if (peer.state != ShmPeer::State::living) continue;
            peer.lane.owe({.kind = ShareNote::Kind::forget, .allocation = number});
        }
    }
    *found = {};
    return true;
}

bool ShmWire::share(PeerId to, std::uint64_t address, Bytes memory, bool readable, bool writable) {
    ShmPeer& peer = peer_of(to);
    const auto [entry, fresh] = peer.ours.try_emplace(
        address, SharedRegion{.memory = memory, .readable = readable, .writable = writable});
    if (!fresh) return false;
    if (peer.state == ShmPeer::State::living) announce(peer, address, entry->second);
    return true;
}

void ShmWire::announce(ShmPeer& peer, std::uint64_t address, const SharedRegion& region) {
    ShareNote note{.kind = ShareNote::Kind::share,
                   .readable = region.readable,
                   .writable = region.writable,
                   .address = address,
                   .bytes = region.memory.size(),
                   .memory = reinterpret_cast<std::uintptr_t>(region.memory.data())};
    for (std::size_t i = 0; i < allocations_.size(); ++i) {
        if (!allocations_[i].mapping.is_open()) continue;
        const Bytes whole = allocations_[i].mapping.bytes();
        if (!lies_within(region.memory, whole)) continue;
        note.allocation = tell_allocation(peer, i, region.writable);
        note.offset = static_cast<std::uint64_t>(region.memory.data() - whole.data());
    }
    if (note.allocation == ShareNote::no_allocation) open_to_peers(peer);
    peer.told_memory = true;
    peer.lane.owe(note);
}

// Returns the number by which the peer knows the allocation, or no_allocation if the peer could not
// be told.
std::uint32_t ShmWire::tell_allocation(ShmPeer& peer, std::size_t index, bool writable) {
    const std::uint32_t number = allocation_number(index, writable);
    if (peer.told_allocations.contains(number)) return number;
    const OwnAllocation& allocation = allocations_[index];
    const Descriptor& memory = writable ? allocation.memory : allocation.read_only;
    if (!memory.is_open()) return ShareNote::no_allocation;
    std::array<std::byte, MemoryNote::size> message{};
    MemoryNote{
        .allocation = number, .writable = writable, .bytes = allocation.mapping.bytes().size()}
        .encode(message);
    if (!peer.socket.send(message, memory.handle())) return ShareNote::no_allocation;
    peer.told_allocations.insert(number);
    return number;
}

// Yama lets a process name one other process that may reach its memory. With several peers, the
// wire permits all processes of this user: the user shares private memory so that others reach it,
// and a machine without Yama permits the same. Config::open_private_memory can switch it off.
void ShmWire::open_to_peers(const ShmPeer& peer) {
    if (opened_ || !config_.open_private_memory) return;
    opened_ = true;
    const auto who = config_.nodes == 2 && peer.memory.pid() > 0
                         ? static_cast<unsigned long>(peer.memory.pid())
                         : PR_SET_PTRACER_ANY;
    ::prctl(PR_SET_PTRACER, who, 0UL, 0UL, 0UL);  // fails where there is no Yama
}

void ShmWire::unshare(PeerId from, std::uint64_t address) {
    ShmPeer& peer = peer_of(from);
    const auto found = peer.ours.find(address);
    if (found == peer.ours.end() || found->second.withdrawn) return;
    if (!peer.may_touch()) {
        peer.ours.erase(found);
        return;
    }
    found->second.withdrawn = true;
    if (peer.state != ShmPeer::State::living) return;  // until its copy is over
    peer.lane.owe({.kind = ShareNote::Kind::withdraw, .address = address});
}

bool ShmWire::unshared(PeerId from, std::uint64_t address) const {
    return !peer_of(from).ours.contains(address);
}

// False: the note is invalid.
bool ShmWire::take_note(ShmPeer& peer, ConstBytes bytes) {
    const auto note = ShareNote::decode(bytes);
    if (!note) return false;
    if (note->kind == ShareNote::Kind::share) {
        const bool told_apart = note->allocation != ShareNote::no_allocation;
        // The peer sent the descriptor before the note, so it is in the socket.
        if (told_apart && !peer.memory.has_allocation(note->allocation) && !hear(peer)) {
            return false;
        }
        return peer.memory.add(*note);
    }
    if (note->kind == ShareNote::Kind::withdraw) {
        peer.memory.remove(note->address);
        if (peer.state != ShmPeer::State::living) return true;
        // A peer that withdraws what it has shared, and reads the answers, never comes so far.
        if (peer.lane.answers_owed() == PeerMemory::regions_max) return false;
        peer.lane.owe({.kind = ShareNote::Kind::withdrawn, .address = note->address});
        return true;
    }
    if (note->kind == ShareNote::Kind::forget) {
        return peer.memory.remove_allocation(note->allocation);
    }
    const auto found = peer.ours.find(note->address);
    if (found == peer.ours.end() || !found->second.withdrawn) {
        return peer.state == ShmPeer::State::ending;  // its withdrawn regions are erased
    }
    peer.ours.erase(found);
    return true;
}

bool ShmWire::write_memory(PeerId to, std::uint64_t address, ConstBytes source) {
    ShmPeer& peer = peer_of(to);
    if (!peer.memory.write(address, source, lanes_->counters)) return false;
    if (source.size() >= much) peer.lane.out_.copied_much();
    return true;
}

bool ShmWire::maps_memory(PeerId to, std::uint64_t address, std::size_t size) {
    return peer_of(to).memory.maps(address, size);
}

bool ShmWire::read_memory(PeerId from, std::uint64_t address, Bytes destination) {
    return peer_of(from).memory.read(address, destination, lanes_->counters);
}

}  // namespace wireproof
