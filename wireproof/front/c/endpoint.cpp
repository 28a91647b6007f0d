// An endpoint from its opening to its end, and what it is.
#include "wireproof/front/c/endpoint.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "wireproof/front/c/options.hpp"

using namespace wireproof;
using namespace wireproof::c;

wireproof_status wireproof_endpoint_open(const wireproof_options* options,
                                         wireproof_endpoint** endpoint, char* why,
                                         size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (endpoint == nullptr) return reason.bad("the pointer for the endpoint is NULL");
    *endpoint = nullptr;
    return reason.guard([&] {
        am::Options read;
        const wireproof_status good = read_options(options, read, reason);
        if (good != WIREPROOF_OK) return good;
        auto opened = am::Endpoint::open(read);
        if (!opened) return reason.fail(WIREPROOF_FAILED, opened.error());
        *endpoint = std::make_unique<wireproof_endpoint>(std::move(*opened)).release();
        return good;
    });
}

wireproof_status wireproof_endpoint_join(const wireproof_options* options, int64_t limit_ms,
                                         size_t threads, wireproof_endpoint** endpoints, char* why,
                                         size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (endpoints == nullptr) return reason.bad("the pointer for the endpoints is NULL");
    if (threads == 0) return reason.bad("a process has at least one thread");
    std::fill_n(endpoints, threads, nullptr);
    return reason.guard([&]() -> wireproof_status {
        am::Options read;
        if (options != nullptr) {
            const wireproof_status good = read_options(options, read, reason);
            if (good != WIREPROOF_OK) return good;
        }
        auto joined = am::Endpoint::join_threads(threads, read, limit_of(limit_ms));
        if (!joined) return reason.fail(WIREPROOF_FAILED, joined.error());
        std::vector<std::unique_ptr<wireproof_endpoint>> handles;
        for (am::Endpoint& one : *joined) {
            handles.push_back(std::make_unique<wireproof_endpoint>(std::move(one)));
        }
        for (auto& handle : handles) *endpoints++ = handle.release();
        return WIREPROOF_OK;
    });
}

wireproof_status wireproof_endpoint_close(wireproof_endpoint* endpoint, int64_t limit_ms) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        return end.inside > 0 ? am::Status::not_allowed : end.am.close(limit_of(limit_ms));
    });
}

wireproof_status wireproof_endpoint_free(wireproof_endpoint* endpoint) {
    if (endpoint == nullptr) return WIREPROOF_OK;
    if (endpoint->inside > 0) return done(*endpoint, WIREPROOF_NOT_ALLOWED);
    // The callbacks of open transfers run here. They find a handle that is still there, and closed.
    { const am::Endpoint ending = std::move(endpoint->am); }
    delete endpoint;
    return WIREPROOF_OK;
}

const char* wireproof_endpoint_error(const wireproof_endpoint* endpoint) {
    if (endpoint == nullptr) return sentence_of(WIREPROOF_BAD_ARGUMENT);
    const char* const text = endpoint->text.c_str();
    return *text != '\0' ? text : sentence_of(endpoint->last);
}

int wireproof_endpoint_is_open(const wireproof_endpoint* endpoint) {
    return endpoint != nullptr && endpoint->am.is_open() ? 1 : 0;
}

size_t wireproof_endpoint_self(const wireproof_endpoint* endpoint) {
    return endpoint != nullptr ? endpoint->am.self() : 0;
}

size_t wireproof_endpoint_nodes(const wireproof_endpoint* endpoint) {
    return endpoint != nullptr ? endpoint->am.nodes() : 0;
}

size_t wireproof_endpoint_message_max(const wireproof_endpoint* endpoint) {
    return endpoint != nullptr ? endpoint->am.message_max() : 0;
}

const char* wireproof_endpoint_address(const wireproof_endpoint* endpoint) {
    return wireproof_endpoint_is_open(endpoint) == 1 ? endpoint->address.c_str() : "";
}

wireproof_status wireproof_endpoint_set_peer_address(wireproof_endpoint* endpoint, size_t peer,
                                                     const char* address) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (address == nullptr) return fail(end, WIREPROOF_BAD_ARGUMENT, "the address is NULL");
        if (!end.am.is_open()) return done(end, WIREPROOF_CLOSED);
        const auto set = end.am.set_peer_address(peer, address);
        return set ? done(end, WIREPROOF_OK) : fail(end, WIREPROOF_FAILED, set.error());
    });
}
