#include "wireproof/proto/ib/transport/send_queue.hpp"

#include <algorithm>

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

Operation only(Request request) {
    switch (request) {
        case Request::send: return Operation::send_only;
        case Request::send_immediate: return Operation::send_only_immediate;
        case Request::send_invalidate: return Operation::send_only_invalidate;
        case Request::write: return Operation::write_only;
        default: return Operation::write_only_immediate;
    }
}

Operation last(Request request) {
    switch (request) {
        case Request::send: return Operation::send_last;
        case Request::send_immediate: return Operation::send_last_immediate;
        case Request::send_invalidate: return Operation::send_last_invalidate;
        case Request::write: return Operation::write_last;
        default: return Operation::write_last_immediate;
    }
}

// UC-5: the part of the message gives the operation.
Operation operation_of(const SendEntry& entry, std::uint32_t index) {
    const Request request = entry.terms.request;
    if (entry.packets == 1) return only(request);
    if (entry.ends_at(index)) return last(request);
    if (index == 0) return is_send(request) ? Operation::send_first : Operation::write_first;
    return is_send(request) ? Operation::send_middle : Operation::write_middle;
}

/// Calls `use` with each part of the pieces that lies in the range, until `use` returns false.
/// Returns whether the whole range was used.
template <class Use>
bool for_each_part(std::span<const Piece> pieces, std::uint64_t offset, std::uint64_t length,
                   Use&& use) {
    for (const Piece& piece : pieces) {
        if (length == 0) break;
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        const auto part = static_cast<std::uint32_t>(std::min(length, piece.length - offset));
        if (!use(Piece{piece.address + offset, part, piece.key})) return false;
        offset = 0;
        length -= part;
    }
    return length == 0;
}

}  // namespace

PostStatus SendQueue::post(const WorkRequest& request, std::uint64_t length_max) {
    const bool inlines = !request.inlined.empty();
    if (request.pieces.size() > limits_.pieces) return PostStatus::too_many_pieces;
    std::uint64_t length = 0;
    if (inlines) {
        if (wants_data(request.terms.request)) return PostStatus::not_supported;
        for (const ConstBytes bytes : request.inlined) length += bytes.size();
        if (length > limits_.inlined) return PostStatus::too_long;
    } else {
        for (const Piece& piece : request.pieces) length += piece.length;
    }
    // UC-9: on UC and RC the limit is message_max.
    if (length > length_max) return PostStatus::too_long;
    if (is_atomic(request.terms.request) && length != 8) return PostStatus::bad_length;
    if (entries_.full()) return PostStatus::queue_full;

    SendEntry& entry = entries_.add();
    entry.terms = request.terms;
    entry.length = static_cast<std::uint32_t>(length);
    entry.inlined.clear();
    entry.pieces.clear();
    if (inlines) {
        for (const ConstBytes bytes : request.inlined) {
            entry.inlined.insert(entry.inlined.end(), bytes.begin(), bytes.end());
        }
    } else {
        entry.pieces.assign(request.pieces.begin(), request.pieces.end());
    }
    entry.begun = entry.probe = false;
    entry.packets = entry.answered = 0;
    entry.after = 0;
    entry.status = CompletionStatus::success;
    entry.wanted = failures_.next();
    failures_.pass();
    return PostStatus::accepted;
}

void SendEntry::fingerprint(Fingerprint& sink) const {
    terms.fingerprint(sink);
    sink.add(pieces.size());
    for (const Piece& piece : pieces) piece.fingerprint(sink);
    sink.add_bytes(inlined);
    sink.add(length);
    sink.add(begun);
    // Before the entry begins, these fields have values of an earlier entry in the same place.
    if (begun) {
        sink.add(first.value());
        sink.add(packets);
        sink.add(answered);
        sink.add(probe);
    }
    sink.add(wanted);
    sink.add(status);
}

void SendQueue::fingerprint(Fingerprint& sink) const {
    failures_.fingerprint(sink);
    sink.add(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].fingerprint(sink);
}

Headers headers_of(const SendEntry& entry, std::uint32_t index, Transport transport) {
    const Operation operation = operation_of(entry, index);
    Headers headers;
    headers.bth.opcode = opcode_of(transport, operation);
    const bool ends = entry.ends_at(index);
    headers.bth.solicited = ends && entry.terms.solicited && takes_receive(entry.terms.request);
    if (index == 0 && is_write(entry.terms.request)) {
        headers.reth = {entry.terms.remote_address, entry.terms.remote_key, entry.length};
    }
    if (ends && has_immediate(entry.terms.request)) headers.immediate = {entry.terms.immediate};
    if (ends) headers.invalidate = {entry.terms.remote_key};
    return headers;
}

// UC-5: every packet but the last is full.
PayloadRange range_of(std::uint32_t message, std::uint32_t index, std::size_t path_mtu) {
    const std::uint64_t offset = std::uint64_t{index} * path_mtu;
    const std::uint64_t left = message - std::min<std::uint64_t>(offset, message);
    return {offset, static_cast<std::uint32_t>(std::min<std::uint64_t>(left, path_mtu))};
}

std::optional<PayloadPieces> gather(const SendEntry& entry, PayloadRange range,
                                    const MemoryTable& memory, std::uint32_t domain) {
    PayloadPieces payload;
    if (!entry.inlined.empty()) {
        payload.add_copied(ConstBytes(entry.inlined)
                               .subspan(static_cast<std::size_t>(range.offset), range.length));
        return payload;
    }
    const bool found =
        for_each_part(entry.pieces, range.offset, range.length, [&](const Piece& part) {
            const auto bytes = memory.local(part, domain, false);
            if (!bytes || !memory.is_there(*bytes)) return false;
            payload.add(*bytes);
            return true;
        });
    if (!found) return std::nullopt;
    return payload;
}

bool all_registered(std::span<const Piece> pieces, const MemoryTable& memory, std::uint32_t domain,
                    bool write) {
    return std::ranges::all_of(
        pieces, [&](const Piece& piece) { return memory.local(piece, domain, write).has_value(); });
}

bool scatter(std::span<const Piece> pieces, std::uint64_t offset, ConstBytes bytes,
             const MemoryTable& memory, std::uint32_t domain) {
    return for_each_part(pieces, offset, bytes.size(), [&](const Piece& part) {
        const auto to = memory.local(part, domain, true);
        if (!to || !memory.store(*to, bytes.first(to->size()))) return false;
        bytes = bytes.subspan(to->size());
        return true;
    });
}

CompletionKind kind_of(Request request) {
    switch (request) {
        case Request::write:
        case Request::write_immediate: return CompletionKind::write;
        case Request::read: return CompletionKind::read;
        case Request::compare_swap: return CompletionKind::compare_swap;
        case Request::fetch_add: return CompletionKind::fetch_add;
        case Request::bind_window: return CompletionKind::bind_window;
        case Request::local_invalidate: return CompletionKind::local_invalidate;
        default: return CompletionKind::send;
    }
}

}  // namespace wireproof::proto::ib
