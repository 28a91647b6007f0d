// Conversions between the engine's enumerations and those of the public header. Each value has its
// own case, so that the compiler warns about a missing one.
#pragma once

#include <optional>

#include "wireproof/base/check.hpp"
#include "wireproof/ib.hpp"
#include "wireproof/proto/ib/packet/opcode.hpp"
#include "wireproof/proto/ib/transport/completion_queue.hpp"
#include "wireproof/proto/ib/transport/congestion_choice.hpp"

namespace wireproof::ib {

inline Status status_of(proto::ib::PostStatus status) {
    switch (status) {
        case proto::ib::PostStatus::accepted: return Status::ok;
        case proto::ib::PostStatus::queue_full: return Status::queue_full;
        case proto::ib::PostStatus::wrong_state: return Status::wrong_state;
        case proto::ib::PostStatus::not_supported: return Status::not_supported;
        case proto::ib::PostStatus::too_long: return Status::too_long;
        case proto::ib::PostStatus::too_many_pieces: return Status::too_many_pieces;
        case proto::ib::PostStatus::bad_length: return Status::bad_length;
    }
    WIREPROOF_CHECK(false);
}

inline WorkStatus work_status_of(proto::ib::CompletionStatus status) {
    using From = proto::ib::CompletionStatus;
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

inline Operation operation_of(proto::ib::CompletionKind kind) {
    switch (kind) {
        case proto::ib::CompletionKind::send: return Operation::send;
        case proto::ib::CompletionKind::write: return Operation::write;
        case proto::ib::CompletionKind::read: return Operation::read;
        case proto::ib::CompletionKind::compare_swap: return Operation::compare_swap;
        case proto::ib::CompletionKind::fetch_add: return Operation::fetch_add;
        case proto::ib::CompletionKind::bind_window: return Operation::bind;
        case proto::ib::CompletionKind::local_invalidate: return Operation::invalidate;
        case proto::ib::CompletionKind::receive: return Operation::receive;
        case proto::ib::CompletionKind::receive_write: return Operation::receive_write;
    }
    WIREPROOF_CHECK(false);
}

/// Nothing: the caller's value is not in the enumeration.
inline std::optional<proto::ib::Transport> transport_of(Transport transport) {
    switch (transport) {
        case Transport::reliable: return proto::ib::Transport::rc;
        case Transport::unreliable: return proto::ib::Transport::uc;
        case Transport::datagram: return proto::ib::Transport::ud;
    }
    return std::nullopt;
}

/// A value that is not in its enumeration counts as the default.
inline proto::ib::CongestionChoice choice_of(const DeviceOptions& options) {
    proto::ib::CongestionChoice choice;
    using With = proto::ib::CongestionChoice::With;
    switch (options.congestion_control) {
        case CongestionControl::between_hosts: choice.with = With::other_hosts; break;
        case CongestionControl::always: choice.with = With::all; break;
        case CongestionControl::never: choice.with = With::none; break;
    }
    switch (options.congestion_algorithm) {
        case CongestionAlgorithm::by_loss: choice.algorithm = proto::ib::Congestion::by_loss; break;
        case CongestionAlgorithm::by_path: choice.algorithm = proto::ib::Congestion::by_path; break;
    }
    return choice;
}

/// A value that is not in the enumeration becomes a window of type 1.
inline proto::ib::WindowType window_type_of(WindowType type) {
    switch (type) {
        case WindowType::type_1: return proto::ib::WindowType::type_1;
        case WindowType::type_2a: return proto::ib::WindowType::type_2a;
        case WindowType::type_2b: return proto::ib::WindowType::type_2b;
    }
    return proto::ib::WindowType::type_1;
}

}  // namespace wireproof::ib
