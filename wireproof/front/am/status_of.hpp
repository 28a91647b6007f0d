// Converts the engine's results to the Status of am.hpp.
#pragma once

#include "wireproof/am.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

inline Status status_of(PostStatus status) {
    switch (status) {
        case PostStatus::accepted: return Status::ok;
        case PostStatus::window_full: return Status::would_block;
        case PostStatus::too_long: return Status::too_long;
        case PostStatus::not_allowed: return Status::not_allowed;
        case PostStatus::peer_gone: return Status::peer_lost;
    }
    return Status::not_allowed;
}

inline Status status_of(Reason reason) {
    switch (reason) {
        case Reason::none: return Status::ok;
        case Reason::no_handler: return Status::no_handler;
        case Reason::forbidden: return Status::forbidden;
    }
    return Status::forbidden;  // a later version of the peer may send another reason
}

}  // namespace wireproof::am
