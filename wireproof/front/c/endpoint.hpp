// What a handle of C holds: an Endpoint, and what C needs beside it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "wireproof/am.hpp"
#include "wireproof/front/c/guard.hpp"
#include "wireproof/front/c/text.hpp"
#include "wireproof/wireproof.h"

/// The handle. One thread at a time uses it, but any thread may set `woken`.
struct wireproof_endpoint {
    explicit wireproof_endpoint(wireproof::am::Endpoint opened)
        : am(std::move(opened)), address(am.local_address()) {}

    wireproof::am::Endpoint am;
    std::string address;
    wireproof_status last = WIREPROOF_OK;  // the last status that is not OK
    wireproof::c::Text text;               // of `last`; empty: the text of the status
    /// The message whose handler runs.
    const wireproof::am::Message* message = nullptr;
    unsigned inside = 0;       // how many handlers and callbacks run now
    std::uint64_t events = 0;  // handlers and callbacks that ran, and transfers that ended
    bool threw = false;        // a handler or callback threw since the last report of that
    wireproof::c::Text thrown;
    std::atomic<bool> woken{false};
    static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers set it");
};

namespace wireproof::c {

/// What a status says, as one line.
const char* sentence_of(wireproof_status status);

inline wireproof_status fail(wireproof_endpoint& end, wireproof_status status,
                             std::string_view text) {
    end.last = status;
    end.text.set(text);
    return status;
}

inline wireproof_status done(wireproof_endpoint& end, wireproof_status status) {
    if (status != WIREPROOF_OK) {
        end.last = status;
        end.text.clear();
    }
    return status;
}

inline wireproof_status status_of(am::Status status) {
    return static_cast<wireproof_status>(status);  // wireproof.h has the same numbers
}
static_assert(static_cast<int>(am::Status::ok) == WIREPROOF_OK);
static_assert(static_cast<int>(am::Status::would_block) == WIREPROOF_WOULD_BLOCK);
static_assert(static_cast<int>(am::Status::too_long) == WIREPROOF_TOO_LONG);
static_assert(static_cast<int>(am::Status::not_allowed) == WIREPROOF_NOT_ALLOWED);
static_assert(static_cast<int>(am::Status::no_such_peer) == WIREPROOF_NO_SUCH_PEER);
static_assert(static_cast<int>(am::Status::peer_lost) == WIREPROOF_PEER_LOST);
static_assert(static_cast<int>(am::Status::no_handler) == WIREPROOF_NO_HANDLER);
static_assert(static_cast<int>(am::Status::forbidden) == WIREPROOF_FORBIDDEN);
static_assert(static_cast<int>(am::Status::closed) == WIREPROOF_CLOSED);
static_assert(static_cast<int>(am::Status::timed_out) == WIREPROOF_TIMED_OUT);

/// Why a call with so many bytes returned WIREPROOF_TOO_LONG.
inline std::string why_too_long(const wireproof_endpoint& end, std::size_t length) {
    constexpr std::size_t transfer_max = std::size_t{1} << 62;
    if (length > transfer_max) {
        return std::to_string(length) + " bytes are more than a transfer has, 2^62";
    }
    return std::to_string(length) + " bytes are more than a message has, " +
           std::to_string(end.am.message_max()) + ": store has room for more";
}

/// Runs a call on an endpoint: `run` takes the handle and returns a status of C or of C++.
template <class Run>
wireproof_status call(wireproof_endpoint* end, Run&& run) {
    if (end == nullptr) return WIREPROOF_BAD_ARGUMENT;
    return guarded(
        [&]() -> wireproof_status {
            const auto status = run(*end);
            if constexpr (std::is_same_v<decltype(status), const am::Status>) {
                return done(*end, status_of(status));
            } else {
                return status;
            }
        },
        [&](wireproof_status status, const char* text) { return fail(*end, status, text); });
}

/// The same for a call that takes bytes: NULL must be 0 bytes.
template <class Run>
wireproof_status call_with(wireproof_endpoint* end, const void* bytes, std::size_t length,
                           Run&& run) {
    return call(end, [&](wireproof_endpoint& e) {
        if (bytes == nullptr && length != 0) {
            return fail(e, WIREPROOF_BAD_ARGUMENT, "the bytes are NULL");
        }
        const wireproof_status status = status_of(run(e));
        if (status == WIREPROOF_TOO_LONG) return fail(e, status, why_too_long(e, length));
        return done(e, status);
    });
}

inline std::span<const std::byte> bytes_of(const void* bytes, std::size_t length) {
    return {static_cast<const std::byte*>(bytes), length};
}
inline std::span<std::byte> bytes_of(void* bytes, std::size_t length) {
    return {static_cast<std::byte*>(bytes), length};
}

/// The limits of C in milliseconds. Endpoint takes a longer one as 30 days.
inline std::chrono::milliseconds limit_of(std::int64_t limit_ms) {
    return limit_ms < 0 ? std::chrono::days(30) : std::chrono::milliseconds(limit_ms);
}

/// Runs a handler or callback of the program inside a call on `end`.
template <class Run>
void run_inside(wireproof_endpoint& end, Run&& run) {
    /// Also if the thread is cancelled.
    struct Inside {
        explicit Inside(wireproof_endpoint& e) : end(e) {
            ++end.inside;
            ++end.events;
        }
        ~Inside() { --end.inside; }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;
        wireproof_endpoint& end;
    };
    const Inside inside(end);
    run_foreign(std::forward<Run>(run), [&](const char* text) {
        if (end.threw) return;
        end.threw = true;
        end.thrown.set(text);
    });
}

/// The Done that ends a transfer for C. It never throws.
am::Done done_of(wireproof_endpoint& end, wireproof_done run, void* user);

}  // namespace wireproof::c
