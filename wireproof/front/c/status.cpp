// The version, and names of statuses.
#include <array>
#include <cstddef>

#include "wireproof/front/c/endpoint.hpp"

namespace {

struct Named {
    const char* name;
    const char* sentence;
};

// In the order of the numbers.
constexpr std::array<Named, 16> statuses = {{
    {"ok", ""},
    {"would_block", "there is no room now: poll, then call again"},
    {"too_long", "the message is longer than message_max, which store has room for, or 2^62"},
    {"not_allowed", "the call is not allowed here, or not with this argument"},
    {"no_such_peer", "no peer has this number, or its address is not known yet"},
    {"peer_lost", "the peer was lost"},
    {"no_handler", "the peer has no handler of this number"},
    {"forbidden", "the peer did not register this memory, or not with this right"},
    {"closed", "the endpoint is closed"},
    {"timed_out", "the limit passed first"},
    {"failed", "the call failed"},
    {"bad_argument", "an argument is NULL, of a wrong size, or has no meaning"},
    {"no_memory", "no memory is left"},
    {"handler_threw", "a handler or callback threw an exception"},
    {"cancelled", "the progress function stopped the simulation"},
    {"not_built", "the library was built without the laboratory"},
}};
static_assert(WIREPROOF_NOT_BUILT + 1 == statuses.size());

const Named* named(wireproof_status status) {
    if (status < 0 || static_cast<std::size_t>(status) >= statuses.size()) return nullptr;
    return &statuses[static_cast<std::size_t>(status)];
}

#define TEXT_OF(number) #number
#define TEXT_OF_VALUE(macro) TEXT_OF(macro)

}  // namespace

namespace wireproof::c {

const char* sentence_of(wireproof_status status) {
    const Named* const found = named(status);
    return found != nullptr ? found->sentence : "unknown";
}

}  // namespace wireproof::c

uint32_t wireproof_version() {
    return WIREPROOF_VERSION;
}

const char* wireproof_version_text() {
    return TEXT_OF_VALUE(WIREPROOF_VERSION_MAJOR) "." TEXT_OF_VALUE(
        WIREPROOF_VERSION_MINOR) "." TEXT_OF_VALUE(WIREPROOF_VERSION_PATCH);
}

const char* wireproof_status_name(wireproof_status status) {
    const Named* const found = named(status);
    return found != nullptr ? found->name : "unknown";
}
