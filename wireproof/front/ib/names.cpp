// The names of the values in the public header's enumerations. A value that is not in its
// enumeration has an empty name.
#include "wireproof/ib_values.hpp"

namespace wireproof::ib {

std::string_view name_of(Status status) {
    switch (status) {
        case Status::ok: return "ok";
        case Status::queue_full: return "queue_full";
        case Status::wrong_state: return "wrong_state";
        case Status::not_supported: return "not_supported";
        case Status::too_long: return "too_long";
        case Status::too_many_pieces: return "too_many_pieces";
        case Status::bad_length: return "bad_length";
        case Status::bad_contact: return "bad_contact";
        case Status::closed: return "closed";
    }
    return "";
}

std::string_view name_of(WorkStatus status) {
    switch (status) {
        case WorkStatus::success: return "success";
        case WorkStatus::local_length_error: return "local length error";
        case WorkStatus::local_operation_error: return "local operation error";
        case WorkStatus::local_protection_error: return "local protection error";
        case WorkStatus::flushed: return "flushed";
        case WorkStatus::window_bind_error: return "memory window bind error";
        case WorkStatus::bad_response: return "bad response";
        case WorkStatus::remote_invalid_request: return "remote invalid request";
        case WorkStatus::remote_access_error: return "remote access error";
        case WorkStatus::remote_operation_error: return "remote operation error";
        case WorkStatus::retry_exceeded: return "transport retries exceeded";
        case WorkStatus::receiver_not_ready: return "receiver-not-ready retries exceeded";
    }
    return "";
}

std::string_view name_of(Operation operation) {
    switch (operation) {
        case Operation::send: return "send";
        case Operation::write: return "write";
        case Operation::read: return "read";
        case Operation::compare_swap: return "compare_swap";
        case Operation::fetch_add: return "fetch_add";
        case Operation::bind: return "bind";
        case Operation::invalidate: return "invalidate";
        case Operation::receive: return "receive";
        case Operation::receive_write: return "receive_write";
    }
    return "";
}

}  // namespace wireproof::ib
