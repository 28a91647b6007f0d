// The engine's enumerations as the public header names them, and back. Each value has a line of
// its own, so that the compiler names one that is missing.
#pragma once

#include <optional>

#include "wireproof/base/check.hpp"
#include "wireproof/ib.hpp"
#include "wireproof/proto/ib/completion_queue.hpp"
#include "wireproof/proto/ib/opcode.hpp"

namespace wireproof::rdma {

inline Status status_of(ib::PostStatus status) {
    switch (status) {
        case ib::PostStatus::accepted: return Status::ok;
        case ib::PostStatus::queue_full: return Status::queue_full;
        case ib::PostStatus::wrong_state: return Status::wrong_state;
        case ib::PostStatus::not_supported: return Status::not_supported;
        case ib::PostStatus::too_long: return Status::too_long;
        case ib::PostStatus::too_many_pieces: return Status::too_many_pieces;
        case ib::PostStatus::bad_length: return Status::bad_length;
    }
    WIREPROOF_CHECK(false);
}

inline WorkStatus work_status_of(ib::CompletionStatus status) {
    using From = ib::CompletionStatus;
    switch (status) {
        case From::success: return WorkStatus::success;
        case From::local_length_error: return WorkStatus::local_length_error;
        case From::local_operation_error: return WorkStatus::local_operation_error;
        case From::local_protection_error: return WorkStatus::local_protection_error;
        case From::flushed: return WorkStatus::flushed;
        case From::window_bind_error: return WorkStatus::window_bind_error;
        case From::bad_response: return WorkStatus::bad_response;
        case From::remote_invalid_request: return WorkStatus::remote_invalid_request;
        case From::remote_access_error: return WorkStatus::remote_access_error;
        case From::remote_operation_error: return WorkStatus::remote_operation_error;
        case From::retry_exceeded: return WorkStatus::retry_exceeded;
        case From::rnr_retry_exceeded: return WorkStatus::receiver_not_ready;
    }
    WIREPROOF_CHECK(false);
}

inline Operation operation_of(ib::CompletionKind kind) {
    switch (kind) {
        case ib::CompletionKind::send: return Operation::send;
        case ib::CompletionKind::write: return Operation::write;
        case ib::CompletionKind::read: return Operation::read;
        case ib::CompletionKind::compare_swap: return Operation::compare_swap;
        case ib::CompletionKind::fetch_add: return Operation::fetch_add;
        case ib::CompletionKind::bind_window: return Operation::bind;
        case ib::CompletionKind::local_invalidate: return Operation::invalidate;
        case ib::CompletionKind::receive: return Operation::receive;
        case ib::CompletionKind::receive_write: return Operation::receive_write;
    }
    WIREPROOF_CHECK(false);
}

/// Nothing: the caller's value has no name.
inline std::optional<ib::Transport> transport_of(Transport transport) {
    switch (transport) {
        case Transport::reliable: return ib::Transport::rc;
        case Transport::unreliable: return ib::Transport::uc;
        case Transport::datagram: return ib::Transport::ud;
    }
    return std::nullopt;
}

/// The caller's value: one without a name is a window of type 1.
inline ib::WindowType window_type_of(WindowType type) {
    switch (type) {
        case WindowType::type_1: return ib::WindowType::type_1;
        case WindowType::type_2a: return ib::WindowType::type_2a;
        case WindowType::type_2b: return ib::WindowType::type_2b;
    }
    return ib::WindowType::type_1;
}

}  // namespace wireproof::rdma
