// What a user asks of a queue pair.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/proto/ib/memory_table.hpp"

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
/// What is answered by data, and so takes one of the peer's few resources until then.
constexpr bool wants_data(Request request) {
    return request == Request::read || is_atomic(request);
}
/// What no packet leaves for.
constexpr bool is_local(Request request) {
    return request >= Request::bind_window;
}
/// What uses a receive request of the peer's.
constexpr bool takes_receive(Request request) {
    return is_send(request) || request == Request::write_immediate;
}
constexpr bool has_immediate(Request request) {
    return request == Request::send_immediate || request == Request::write_immediate;
}

/// What travels with a work request but its bytes.
struct WorkTerms {
    std::uint64_t id = 0;  // given back in its completion
    Request request = Request::send;
    bool signalled = true;
    bool solicited = false;  // the peer's completion is an event
    bool fence = false;      // waits until earlier Reads and Atomics have been answered
    std::uint32_t immediate = 0;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;  // also the one to invalidate, here or over there
    std::uint64_t compare = 0;
    std::uint64_t swap_or_add = 0;
    WindowBind bind = {};
    // Of a datagram.
    PeerId to = {};
    std::uint32_t to_queue_pair = 0;
    std::uint32_t qkey = 0;  // with its highest bit set: the sending queue pair's own

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
    /// Memory sent from, or that a Read or Atomic writes to; the user's again at completion.
    std::span<const Piece> pieces = {};
    /// Sent instead of pieces: copied at once, of any memory.
    std::span<const ConstBytes> inlined = {};
};

struct ReceiveRequest {
    std::uint64_t id = 0;
    std::span<const Piece> pieces = {};
};

/// The answer to a work request; all but the first leave everything as it was.
enum class PostStatus : std::uint8_t {
    accepted,
    queue_full,       // until something completes
    wrong_state,      // of the queue pair
    not_supported,    // by this transport
    too_long,         // message_max, a packet of a datagram, or what may be inlined
    too_many_pieces,  // for this queue pair
    bad_length,       // of an Atomic: it has 8 bytes
};

}  // namespace wireproof::proto::ib
