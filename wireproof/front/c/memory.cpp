// Memory of this node that peers use.
#include "wireproof/front/c/endpoint.hpp"

using namespace wireproof;
using namespace wireproof::c;

wireproof_status wireproof_endpoint_allocate(wireproof_endpoint* endpoint, size_t length,
                                             void** memory) {
    if (memory != nullptr) *memory = nullptr;
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (memory == nullptr) {
            return fail(end, WIREPROOF_BAD_ARGUMENT, "the pointer for the memory is NULL");
        }
        if (!end.am.is_open()) return done(end, WIREPROOF_CLOSED);
        const auto allocated = end.am.allocate(length);
        if (!allocated) return fail(end, WIREPROOF_FAILED, allocated.error());
        *memory = allocated->data();
        return done(end, WIREPROOF_OK);
    });
}

wireproof_status wireproof_endpoint_deallocate(wireproof_endpoint* endpoint, void* memory,
                                               size_t length) {
    return call_with(endpoint, memory, length, [&](wireproof_endpoint& end) {
        return end.am.deallocate(bytes_of(memory, length));
    });
}

wireproof_status wireproof_endpoint_register_memory(wireproof_endpoint* endpoint, size_t peer,
                                                    void* memory, size_t length, uint32_t rights,
                                                    uint64_t* address) {
    if (address != nullptr) *address = 0;
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (address == nullptr || (memory == nullptr && length != 0)) {
            return fail(end, WIREPROOF_BAD_ARGUMENT, "the memory or the pointer for it is NULL");
        }
        if ((rights & ~std::uint32_t{WIREPROOF_MAY_GET | WIREPROOF_MAY_STORE}) != 0) {
            return fail(end, WIREPROOF_BAD_ARGUMENT, "the rights have a bit of no meaning");
        }
        if (!end.am.is_open()) return done(end, WIREPROOF_CLOSED);
        const am::Rights may{.get = (rights & WIREPROOF_MAY_GET) != 0,
                             .store = (rights & WIREPROOF_MAY_STORE) != 0};
        const auto bytes = bytes_of(memory, length);
        const auto registered = peer == WIREPROOF_EACH_PEER
                                    ? end.am.register_memory(bytes, may)
                                    : end.am.register_memory(peer, bytes, may);
        if (!registered) return fail(end, WIREPROOF_FAILED, registered.error());
        *address = *registered;
        return done(end, WIREPROOF_OK);
    });
}

wireproof_status wireproof_endpoint_unregister_memory(wireproof_endpoint* endpoint, size_t peer,
                                                      uint64_t address) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        return peer == WIREPROOF_EACH_PEER ? end.am.unregister_memory(address)
                                           : end.am.unregister_memory(peer, address);
    });
}
