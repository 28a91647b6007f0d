// Handlers, requests, replies, stores and gets.
#include "wireproof/front/c/endpoint.hpp"

using namespace wireproof;
using namespace wireproof::c;

namespace wireproof::c {

am::Done done_of(wireproof_endpoint& end, wireproof_done run, void* user) {
    // A wait ends at the end of a transfer without a callback, too.
    if (run == nullptr) return [&end](am::Status) { ++end.events; };
    return [&end, run, user](am::Status status) {
        run_inside(end, [&] { run(&end, status_of(status), user); });
    };
}

namespace {

wireproof_message message_of(const am::Message& from, std::uint16_t handler) {
    wireproof_message message{};
    message.size = sizeof message;
    message.peer = from.peer();
    message.bytes = from.bytes().data();
    message.length = from.bytes().size();
    message.memory = from.memory().data();
    message.memory_length = from.memory().size();
    message.argument = from.argument();
    message.handler = handler;
    return message;
}

/// The message to which wireproof_endpoint_reply replies, while its handler runs.
class Current {
public:
    Current(wireproof_endpoint& end, const am::Message& message) : end_(end) {
        end_.message = &message;
    }
    ~Current() { end_.message = nullptr; }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

private:
    wireproof_endpoint& end_;
};

}  // namespace
}  // namespace wireproof::c

wireproof_status wireproof_endpoint_handle(wireproof_endpoint* endpoint, uint16_t handler,
                                           wireproof_handler run, void* user) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (run == nullptr) return end.am.handle(handler, {});
        return end.am.handle(handler, [&end, handler, run, user](const am::Message& m) {
            const wireproof_message message = message_of(m, handler);
            const Current current(end, m);
            run_inside(end, [&] { run(&end, &message, user); });
        });
    });
}

wireproof_status wireproof_endpoint_request(wireproof_endpoint* endpoint, size_t peer,
                                            uint16_t handler, const void* bytes, size_t length) {
    return call_with(endpoint, bytes, length, [&](wireproof_endpoint& end) {
        return end.am.request(peer, handler, bytes_of(bytes, length));
    });
}

wireproof_status wireproof_endpoint_reply(wireproof_endpoint* endpoint, uint16_t handler,
                                          const void* bytes, size_t length) {
    return call_with(endpoint, bytes, length, [&](wireproof_endpoint& end) {
        if (end.message == nullptr) return am::Status::not_allowed;
        return end.message->reply(handler, bytes_of(bytes, length));
    });
}

wireproof_status wireproof_endpoint_flush(wireproof_endpoint* endpoint, size_t peer,
                                          int64_t limit_ms) {
    return call(endpoint,
                [&](wireproof_endpoint& end) { return end.am.flush(peer, limit_of(limit_ms)); });
}

wireproof_status wireproof_endpoint_store(wireproof_endpoint* endpoint, size_t peer,
                                          uint64_t address, const void* bytes, size_t length,
                                          uint16_t handler, uint32_t argument) {
    return call_with(endpoint, bytes, length, [&](wireproof_endpoint& end) {
        return end.am.store(peer, address, bytes_of(bytes, length), handler, argument);
    });
}

wireproof_status wireproof_endpoint_store_async(wireproof_endpoint* endpoint, size_t peer,
                                                uint64_t address, const void* bytes, size_t length,
                                                uint16_t handler, uint32_t argument,
                                                wireproof_done done, void* user) {
    return call_with(endpoint, bytes, length, [&](wireproof_endpoint& end) {
        return end.am.store_async(peer, address, bytes_of(bytes, length), handler, argument,
                                  done_of(end, done, user));
    });
}

wireproof_status wireproof_endpoint_get(wireproof_endpoint* endpoint, size_t peer, uint64_t address,
                                        void* bytes, size_t length) {
    return call_with(endpoint, bytes, length, [&](wireproof_endpoint& end) {
        return end.am.get(peer, address, bytes_of(bytes, length));
    });
}

wireproof_status wireproof_endpoint_get_async(wireproof_endpoint* endpoint, size_t peer,
                                              uint64_t address, void* bytes, size_t length,
                                              wireproof_done done, void* user) {
    return call_with(endpoint, bytes, length, [&](wireproof_endpoint& end) {
        return end.am.get_async(peer, address, bytes_of(bytes, length), done_of(end, done, user));
    });
}
