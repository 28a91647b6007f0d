// What a connection hands to its front, one at a time, and what its calls answer.
#pragma once

#include <cstdint>
#include <variant>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

/// A handler, as the receiving side numbers them; 16 bits, 0 is reserved.
enum class HandlerId : std::uint16_t {};

/// The answer to a call that wants to send.
enum class PostStatus : std::uint8_t {
    accepted,
    window_full,  // nothing was queued: poll and try again
    too_long,     // more arguments than one packet holds, or a transfer beyond the offset's width
    not_allowed,  // a reply outside a request handler, or a second one; handler 0
    peer_gone,    // the launcher's session is over, and no other can follow
};

/// Why something asked of a peer was not done.
enum class Reason : std::uint32_t {
    none = 0,
    no_handler = 1,  // the peer has no handler of that number
    forbidden = 2,   // the memory is not registered for us with that right
};

/// Arguments point into the frame or into the engine and are dead at the next draw or call.
/// Fingerprints leave their bytes out.
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
/// A store into our memory is complete. Its handler may reply, as a request's may.
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
/// A transfer of our own has ended; `reason` says how. Its memory is the user's again.
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
/// The peer had no handler for a request, reply or store of ours.
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
/// A message of an ended session, delivered or not: nobody knows. In order, each once.
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
        unanswered,  // the peer answers, but never that one packet has come
    };
    Why why = Why::silent;
    std::size_t packet_bytes = 0;    // of an unanswered packet: its length as a frame
    std::uint32_t packet_times = 0;  // and how often it was sent again
    bool by_peer = false;  // the peer says so: it heard nothing of us, or the packet is one of its

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
