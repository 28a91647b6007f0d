// The send queue: it keeps work requests until they complete, and says how a request becomes
// packets. A Send or Write has the same packets on UC and RC.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/transport/completion_queue.hpp"
#include "wireproof/proto/ib/transport/owed_answers.hpp"
#include "wireproof/proto/ib/transport/planned_failures.hpp"
#include "wireproof/proto/ib/transport/work_request.hpp"

namespace wireproof::proto::ib {

/// Limits of the queues of a queue pair.
struct QueueLimits {
    std::size_t sends = 64;     // requests in the send queue
    std::size_t receives = 64;  // requests in the receive queue
    std::size_t pieces = 4;     // pieces of one request, at most SendEntry::pieces_max
    std::size_t inlined = 64;   // bytes
};

struct SendEntry {
    static constexpr std::size_t pieces_max = 32;

    WorkTerms terms = {};
    std::vector<Piece> pieces = {};
    std::vector<std::byte> inlined = {};
    std::uint32_t length = 0;  // bytes of the message

    // Valid after the request has begun. A local request takes no PSN.
    bool begun = false;
    std::uint32_t packets = 0;  // number of PSNs; for a Read, the number of its responses
    Psn first = {};
    std::uint32_t answered = 0;     // responses to a Read that have arrived
    bool probe = false;             // the request began without credit
    OwedAnswers::Number after = 0;  // it begins after the answers up to this one have left (RC-38)
    CompletionStatus wanted = CompletionStatus::success;  // planned failure; success: none
    CompletionStatus status = CompletionStatus::success;  // failure before the first packet left

    bool ends_at(std::uint32_t index) const { return index + 1 == packets; }
    void fingerprint(Fingerprint& sink) const;
};

/// The bytes of a packet, which may be in several places.
class PayloadPieces {
public:
    void add(ConstBytes piece) {
        if (!piece.empty()) pieces_[count_++] = piece;
    }
    /// For bytes that may change before the frame has left. Two pieces are always copied into
    /// memory of the lane, so this sets the count to 2; the second piece is empty.
    void add_copied(ConstBytes piece) {
        pieces_[0] = piece;
        count_ = 2;
    }
    std::span<const ConstBytes> all() const { return std::span(pieces_).first(count_); }

private:
    std::array<ConstBytes, SendEntry::pieces_max> pieces_{};
    std::size_t count_ = 0;
};

class SendQueue {
public:
    explicit SendQueue(const QueueLimits& limits) : limits_(limits), entries_(limits.sends) {}

    /// Copies inlined bytes. The pieces remain the user's memory and must stay valid until
    /// completion.
    PostStatus post(const WorkRequest& request, std::uint64_t length_max);

    /// The `nth` request posted from now on, counted from 1, fails with `status` at its turn.
    void fail(std::uint64_t nth, CompletionStatus status) { failures_.add(nth, status); }

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    SendEntry& front() { return entries_.front(); }
    SendEntry& back() { return entries_.back(); }
    SendEntry& operator[](std::size_t index) { return entries_[index]; }
    const SendEntry& operator[](std::size_t index) const { return entries_[index]; }
    void pop() { entries_.pop(); }
    void clear() { entries_.clear(); }
    const QueueLimits& limits() const { return limits_; }

    void fingerprint(Fingerprint& sink) const;

private:
    QueueLimits limits_;
    Ring<SendEntry> entries_;
    PlannedFailures failures_;
};

/// The headers of one packet of a Send or Write. `index` counts the packets of the entry from 0.
/// The caller adds the destination, the PSN and AckReq.
Headers headers_of(const SendEntry& entry, std::uint32_t index, Transport transport);

/// The position of the payload of packet `index` in its message.
struct PayloadRange {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;  // bytes
};
PayloadRange range_of(std::uint32_t message, std::uint32_t index, std::size_t path_mtu);

/// The bytes to send; empty if some of them are no longer in a region.
std::optional<PayloadPieces> gather(const SendEntry& entry, PayloadRange range,
                                    const MemoryTable& memory, std::uint32_t domain);

/// Whether all pieces are in regions now and, if `write` is set, may be written.
bool all_registered(std::span<const Piece> pieces, const MemoryTable& memory, std::uint32_t domain,
                    bool write);

/// Copies bytes of a message into its pieces, `offset` bytes after their beginning. Returns false
/// if a piece is not writable; then some bytes may have been written.
bool scatter(std::span<const Piece> pieces, std::uint64_t offset, ConstBytes bytes,
             const MemoryTable& memory, std::uint32_t domain);

CompletionKind kind_of(Request request);

}  // namespace wireproof::proto::ib
