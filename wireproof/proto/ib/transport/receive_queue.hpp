// Receive requests, which belong to one queue pair or are shared by several. A message takes a
// request when it begins, and uses it up when it ends. If a message breaks off, an own request goes
// back to its queue. A shared request completes in error, because other queue pairs may have used
// later requests.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/transport/work_request.hpp"

namespace wireproof::proto::ib {

struct ReceiveEntry {
    std::uint64_t id = 0;
    std::uint64_t length = 0;  // bytes of all pieces together
    std::vector<Piece> pieces = {};
    void fingerprint(Fingerprint& sink) const {
        sink.add(id);
        sink.add(pieces.size());
        for (const Piece& piece : pieces) piece.fingerprint(sink);
    }
};

/// Holds at most `requests` requests of at most `pieces` pieces each. Allocates the entries at
/// construction.
class ReceiveRing {
public:
    ReceiveRing(std::size_t requests, std::size_t pieces)
        : entries_(requests), pieces_max_(pieces) {}

    PostStatus post(const ReceiveRequest& request) {
        if (request.pieces.size() > pieces_max_) return PostStatus::too_many_pieces;
        if (entries_.full()) return PostStatus::queue_full;
        ReceiveEntry& entry = entries_.add();
        entry.id = request.id;
        entry.pieces.assign(request.pieces.begin(), request.pieces.end());
        entry.length = 0;
        for (const Piece& piece : request.pieces) entry.length += piece.length;
        return PostStatus::accepted;
    }
    /// Returns false if the ring holds more requests than that now.
    bool resize(std::size_t requests) {
        if (requests < entries_.size()) return false;
        Ring<ReceiveEntry> other(requests);
        for (; !entries_.empty(); entries_.pop()) other.push(std::move(entries_.front()));
        entries_ = std::move(other);
        return true;
    }
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    std::size_t capacity() const { return entries_.capacity(); }
    std::size_t pieces_max() const { return pieces_max_; }
    ReceiveEntry& front() { return entries_.front(); }
    const ReceiveEntry& front() const { return entries_.front(); }
    void pop() { entries_.pop(); }
    void clear() { entries_.clear(); }
    void fingerprint(Fingerprint& sink) const {
        sink.add(entries_.size());
        for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].fingerprint(sink);
    }

private:
    Ring<ReceiveEntry> entries_;
    std::size_t pieces_max_;
};

struct SharedReceiveQueue {
    std::uint32_t domain = 0;
    ReceiveRing ring;
    std::size_t limit = 0;  // if fewer remain, there is one event; 0: never
    std::size_t users = 0;  // queue pairs
    void fingerprint(Fingerprint& sink) const {
        sink.add(domain);
        ring.fingerprint(sink);
        sink.add(limit);
    }
};

}  // namespace wireproof::proto::ib
