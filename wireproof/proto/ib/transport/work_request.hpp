// The work that a user posts to a queue pair.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/proto/ib/transport/memory_table.hpp"

namespace wireproof::proto::ib {

enum class Request : std::uint8_t {
    send,
    send_immediate,
    send_invalidate,
    write,
    write_immediate,
    read,
    compare_swap,
    fetch_add,
    bind_window,
    local_invalidate,
};

constexpr bool is_send(Request request) {
    return request <= Request::send_invalidate;
}
constexpr bool is_write(Request request) {
    return request == Request::write || request == Request::write_immediate;
}
constexpr bool is_atomic(Request request) {
    return request == Request::compare_swap || request == Request::fetch_add;
}
/// Whether data answers the request. Such a request uses one of the peer's few resources until
/// then.
constexpr bool wants_data(Request request) {
    return request == Request::read || is_atomic(request);
}
/// Whether the request changes memory of the peer that it names.
constexpr bool changes_memory(Request request) {
    return is_write(request) || is_atomic(request);
}
/// Whether the request sends no packet.
constexpr bool is_local(Request request) {
    return request >= Request::bind_window;
}
/// Whether the request uses a receive request of the peer.
constexpr bool takes_receive(Request request) {
    return is_send(request) || request == Request::write_immediate;
}
constexpr bool has_immediate(Request request) {
    return request == Request::send_immediate || request == Request::write_immediate;
}

/// All values of a work request except its bytes.
struct WorkTerms {
    std::uint64_t id = 0;  // returned in the completion
    Request request = Request::send;
    bool signalled = true;
    bool solicited = false;  // the completion at the peer raises an event
    bool fence = false;      // waits until earlier Reads and Atomics have been answered
    std::uint32_t immediate = 0;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;  // also the key to invalidate, here or at the peer
    std::uint64_t compare = 0;
    std::uint64_t swap_or_add = 0;
    WindowBind bind = {};
    // Only for a datagram.
    PeerId to = {};
    std::uint32_t to_queue_pair = 0;
    std::uint32_t qkey = 0;  // highest bit set: the queue pair's Q_Key is used

    void fingerprint(Fingerprint& sink) const {
        sink.add(id);
        sink.add(request);
        sink.add(signalled);
        sink.add(solicited);
        sink.add(fence);
        sink.add(immediate);
        sink.add(remote_address);
        sink.add(remote_key);
        sink.add(compare);
        sink.add(swap_or_add);
        if (request == Request::bind_window) bind.fingerprint(sink);
        sink.add(to);
        sink.add(to_queue_pair);
        sink.add(qkey);
    }
};

struct WorkRequest {
    WorkTerms terms;
    /// Memory to send from, or to which a Read or Atomic writes. The user must not touch it until
    /// completion.
    std::span<const Piece> pieces = {};
    /// Sent instead of pieces. The bytes are copied at once and may be in any memory.
    std::span<const ConstBytes> inlined = {};
};

struct ReceiveRequest {
    std::uint64_t id = 0;
    std::span<const Piece> pieces = {};
};

/// The result of posting a work request. If it is not `accepted`, nothing has changed.
enum class PostStatus : std::uint8_t {
    accepted,
    queue_full,       // full until a request completes
    wrong_state,      // of the queue pair
    not_supported,    // by this transport
    too_long,         // longer than message_max, than a datagram, or than inlined bytes may be
    too_many_pieces,  // more than this queue pair allows
    bad_length,       // an Atomic must have 8 bytes
};

}  // namespace wireproof::proto::ib
