// Polling, waiting, and what an event loop needs.
#include "wireproof/front/c/endpoint.hpp"

using namespace wireproof;
using namespace wireproof::c;

namespace {

/// Reports once that a handler or callback threw; otherwise `status`.
wireproof_status with_throw(wireproof_endpoint& end, wireproof_status status) {
    if (!end.threw) return done(end, status);
    end.threw = false;
    return fail(end, WIREPROOF_HANDLER_THREW, end.thrown.c_str());
}

}  // namespace

wireproof_status wireproof_endpoint_poll(wireproof_endpoint* endpoint, size_t* handled) {
    if (handled != nullptr) *handled = 0;
    return call(endpoint, [&](wireproof_endpoint& end) -> wireproof_status {
        // The exception of a handler is for the caller of the poll that runs the handler.
        if (end.inside > 0) return WIREPROOF_OK;
        if (!end.am.is_open()) return with_throw(end, WIREPROOF_CLOSED);
        const std::size_t count = end.am.poll();
        if (handled != nullptr) *handled = count;
        return with_throw(end, WIREPROOF_OK);
    });
}

wireproof_status wireproof_endpoint_wait(wireproof_endpoint* endpoint, int64_t limit_ms) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (end.inside > 0) return done(end, WIREPROOF_NOT_ALLOWED);
        if (!end.am.is_open()) return with_throw(end, WIREPROOF_CLOSED);
        const std::uint64_t before = end.events;
        const bool came = end.am.wait(
            [&] { return end.woken.exchange(false) || end.events != before || end.threw; },
            limit_of(limit_ms));
        return with_throw(end, came ? WIREPROOF_OK : WIREPROOF_TIMED_OUT);
    });
}

wireproof_status wireproof_endpoint_leave(wireproof_endpoint* endpoint, int64_t limit_ms) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (end.inside > 0) return done(end, WIREPROOF_NOT_ALLOWED);
        if (!end.am.is_open()) return with_throw(end, WIREPROOF_CLOSED);
        bool left = false;
        (void)end.am.wait(
            [&] {
                left = end.am.leave();
                return left || end.threw;
            },
            limit_of(limit_ms));
        return with_throw(end, left ? WIREPROOF_OK : WIREPROOF_TIMED_OUT);
    });
}

int wireproof_endpoint_event_fd(const wireproof_endpoint* endpoint) {
    return endpoint != nullptr ? endpoint->am.event_fd() : -1;
}

int wireproof_endpoint_arm(wireproof_endpoint* endpoint) {
    if (endpoint == nullptr) return 1;
    // If there is no memory to look at what waits, the program must poll, and learns it there.
    return guarded([&] { return endpoint->am.arm() ? 1 : 0; },
                   [](wireproof_status, const char*) { return 0; });
}

int64_t wireproof_endpoint_next_timeout(const wireproof_endpoint* endpoint) {
    if (endpoint == nullptr) return -1;
    const auto timeout = endpoint->am.next_timeout();
    return timeout == std::chrono::nanoseconds::max() ? -1 : timeout.count();
}

void wireproof_endpoint_wake(wireproof_endpoint* endpoint) {
    if (endpoint == nullptr) return;
    endpoint->woken = true;
    endpoint->am.wake();
}

int wireproof_endpoint_idle(const wireproof_endpoint* endpoint) {
    return endpoint == nullptr || endpoint->am.idle() ? 1 : 0;
}
