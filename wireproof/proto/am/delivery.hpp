// What a connection delivers to its front, one item at a time, and the answers of its calls.
#pragma once

#include <cstdint>
#include <variant>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

/// A handler's number at the receiver: 16 bits; 0 is reserved.
enum class HandlerId : std::uint16_t {};

/// The answer to a call that sends.
enum class PostStatus : std::uint8_t {
    accepted,
    window_full,  // the engine queued nothing: poll and try again
    too_long,  // more arguments than one packet holds, or a transfer too long for the offset field
    not_allowed,  // a reply outside a request handler, or a second one; handler 0
    peer_gone,    // the session that the launcher gave has ended, and no other can follow
};

/// Why the peer did not do what this end asked for.
enum class Reason : std::uint32_t {
    none = 0,
    no_handler = 1,  // the peer has no handler of that number
    forbidden = 2,   // this end may not access the memory in that way
};

/// The arguments point into the frame or into the engine. They are valid until the next draw or
/// call. Fingerprints do not include their bytes.
struct Request {
    HandlerId handler{};
    ConstBytes arguments;

    void fingerprint(Fingerprint& sink) const {
        sink.add(handler);
        sink.add(arguments.size());
    }
};
struct Reply {
    HandlerId handler{};
    ConstBytes arguments;

    void fingerprint(Fingerprint& sink) const {
        sink.add(handler);
        sink.add(arguments.size());
    }
};
/// A store into this node's memory is complete. Its handler may reply, as that of a request may.
struct Stored {
    HandlerId handler{};
    Bytes memory;
    std::uint32_t argument = 0;

    void fingerprint(Fingerprint& sink) const {
        sink.add(handler);
        sink.add(memory.size());
        sink.add(argument);
    }
};
/// A transfer of this end has ended; `reason` says how. The user may use its memory again.
struct StoreEnded {
    std::uint64_t tag = 0;
    Reason reason = Reason::none;

    void fingerprint(Fingerprint& sink) const {
        sink.add(tag);
        sink.add(reason);
    }
};
struct GetEnded {
    std::uint64_t tag = 0;
    Reason reason = Reason::none;

    void fingerprint(Fingerprint& sink) const {
        sink.add(tag);
        sink.add(reason);
    }
};
/// The peer had no handler for a request, reply or store of this end.
struct Refused {
    HandlerId handler{};
    Reason reason = Reason::none;

    void fingerprint(Fingerprint& sink) const {
        sink.add(handler);
        sink.add(reason);
    }
};
struct SessionBegan {
    void fingerprint(Fingerprint&) const {}
};
/// A message or transfer that had not ended when its session ended: the peer may have received it
/// or not. Each is reported once, in order.
struct FateUnknown {
    enum class What : std::uint8_t { request, reply, store, get };
    What what = What::request;
    HandlerId handler{};    // of a request, reply or store
    ConstBytes arguments;   // of a request or reply
    std::uint64_t tag = 0;  // of a store or get

    void fingerprint(Fingerprint& sink) const {
        sink.add(what);
        sink.add(handler);
        sink.add(arguments.size());
        sink.add(tag);
    }
};
struct SessionEnded {
    enum class Why : std::uint8_t {
        silent,
        restarted,
        gone,
        unanswered,  // the peer answers, but one packet never arrives
    };
    Why why = Why::silent;
    std::size_t packet_bytes = 0;    // unanswered: length of that packet as a frame
    std::uint32_t packet_times = 0;  // unanswered: how many times it was sent again
    bool by_peer = false;  // the peer reported the end: it no longer heard this end, or the packet
                           // is the peer's

    void fingerprint(Fingerprint& sink) const {
        sink.add(why);
        sink.add(packet_bytes);
        sink.add(packet_times);
        sink.add(by_peer);
    }
};

using Delivery = std::variant<Request, Reply, Stored, StoreEnded, GetEnded, Refused, SessionBegan,
                              FateUnknown, SessionEnded>;

inline void add(const Delivery& delivery, Fingerprint& sink) {
    sink.add(delivery.index());
    std::visit([&sink](const auto& what) { what.fingerprint(sink); }, delivery);
}

}  // namespace wireproof::am
