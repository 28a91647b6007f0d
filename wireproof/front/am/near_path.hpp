// Transfers with peers whose memory the wire reaches: it copies the bytes at once, and no packet
// carries them. This part knows when that is allowed, and when it costs less than a packet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/host/any_wire.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {

/// The smallest range of addresses that contains all ranges that were added.
class AddressRange {
public:
    /// The range is empty before, if `anew`.
    void add(std::uint64_t address, std::size_t size, bool anew) {
        first_ = anew ? address : std::min(first_, address);
        last_ = anew ? last_of(address, size) : std::max(last_, last_of(address, size));
    }
    bool meets(std::uint64_t address, std::size_t size) const {
        return address <= last_ && last_of(address, size) >= first_;
    }

private:
    static std::uint64_t last_of(std::uint64_t address, std::size_t size) {
        const std::uint64_t more = size > 0 ? size - 1 : 0;
        return address + std::min(more, ~address);  // the range ends at the highest address
    }

    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
};

class NearPath {
public:
    /// The caller owns `wire`. `shm` is the shared memory inside, or nullptr.
    NearPath(host::AnyWire& wire, ShmWire* shm, std::size_t peers)
        : wire_(wire), shm_(shm), peers_(peers) {}

    /// The peer is on `shm`.
    void add(std::size_t peer) { peers_[peer].is_near = true; }

    // Handlers of peers. Only a peer that has the handler can run it after a store at once.

    /// How many handlers the peer has removed: its notice. Nothing: the wire does not show it.
    std::optional<std::uint32_t> notice_of(std::size_t peer) const {
        return peers_[peer].is_near ? shm_->notice_of(PeerId(peer)) : std::nullopt;
    }
    /// A store of this session that named the handler ended with ok, and the peer has removed no
    /// handler since.
    bool has_handler(std::size_t peer, std::uint16_t handler) const {
        const Peer& of = peers_[peer];
        return of.handlers.has(static_cast<HandlerId>(handler)) && notice_of(peer) == of.as_of;
    }
    /// A store that named the handler found it. `posted` was the notice when the store was posted:
    /// if it has changed since, the store proves nothing.
    void found(std::size_t peer, std::uint16_t handler, std::optional<std::uint32_t> posted) {
        const auto notice = notice_of(peer);
        if (!notice || notice != posted) return;
        Peer& of = peers_[peer];
        if (of.as_of != *notice) of.handlers = {};
        of.as_of = *notice;
        of.handlers.set(static_cast<HandlerId>(handler), true);
    }
    void missed(std::size_t peer, std::uint16_t handler) {
        peers_[peer].handlers.set(static_cast<HandlerId>(handler), false);
    }
    void session_ended(std::size_t peer) { peers_[peer].handlers = {}; }

    // Stores.

    /// A store to these bytes is posted that is whole in its first packet. `first`: no other such
    /// store is in flight.
    void left_in_packet(std::size_t peer, std::uint64_t address, std::size_t size, bool first) {
        peers_[peer].in_packets.add(address, size, first);
    }
    /// A peer that polls has received the bytes of a packet before the kernel has copied them.
    bool costs_less_in_a_packet(std::size_t peer, const Connection& to, std::uint64_t address,
                                std::size_t size) {
        return peers_[peer].is_near && size > 0 && size <= to.config().open_bytes &&
               !shm_->maps_memory(PeerId(peer), address, size);
    }
    /// False: a store in flight must come first. It is in chunks, or it is whole in its packet and
    /// its target is within the range of the targets of such stores.
    bool may_write(std::size_t peer, const Connection& to, std::uint64_t address,
                   std::size_t size) const {
        return to.established() && to.no_chunks_out() &&
               (to.no_opens_with_bytes_out() || !peers_[peer].in_packets.meets(address, size));
    }
    /// False: the wire does not reach the memory. True: the bytes are in place.
    bool write(std::size_t peer, std::uint64_t address, ConstBytes source) {
        if (!wire_.write_memory(PeerId(peer), address, source)) return false;
        ++written_;
        return true;
    }
    /// False: the wire does not reach the memory, or a message of this node may still change it.
    bool read(std::size_t peer, const Connection& from, std::uint64_t address, Bytes destination) {
        const bool done =
            from.can_read_at_once() && wire_.read_memory(PeerId(peer), address, destination);
        if (done) ++read_;
        return done;
    }

    std::uint64_t written() const { return written_; }
    std::uint64_t times_read() const { return read_; }

private:
    struct Peer {
        bool is_near = false;
        std::uint32_t as_of = 0;  // its notice, when `handlers` was as it is
        HandlerTable handlers;    // those that it is known to have
        AddressRange in_packets;  // targets of the stores in flight whose bytes are in their OPENs
    };

    host::AnyWire& wire_;
    ShmWire* shm_;
    std::vector<Peer> peers_;
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0;
};

}  // namespace wireproof::am
