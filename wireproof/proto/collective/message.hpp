// The messages of collective operations. Each is one request of SP Active Messages: a header, then
// bytes. All numbers are little-endian; the bytes are as the memory of the sender has them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "wireproof/base/bytes.hpp"

namespace wireproof::collective {

enum class Call : std::uint8_t { barrier, broadcast, all_reduce, all_to_all };
enum class Element : std::uint8_t { none, float32, float64, int32, int64, uint32, uint64 };
enum class Reduction : std::uint8_t { sum, min, max };

/// How an operation ended.
enum class Outcome : std::uint8_t {
    ok,
    peer_lost,
    mismatched,  // a rank called another operation, or with other arguments, or broke the protocol
    no_handler,  // a rank did not know the messages
    no_address,  // the address of a rank is not known
    closed,
};

constexpr std::size_t size_of(Element element) {
    switch (element) {
        case Element::none: return 1;
        case Element::float32:
        case Element::int32:
        case Element::uint32: return 4;
        case Element::float64:
        case Element::int64:
        case Element::uint64: return 8;
    }
    return 1;
}

/// What all ranks must agree on for one operation.
struct Signature {
    Call call = Call::barrier;
    Element element = Element::none;
    Reduction reduction = Reduction::sum;
    std::uint32_t root = 0;
    std::uint64_t total = 0;  // bytes of each message
    friend bool operator==(const Signature&, const Signature&) = default;
};

//       0               4       5       6         7           8          12        20
//      +---------------+-------+-------+---------+-----------+----------+---------+- - - -
//      | sequence      | kind  | call  | element | reduction | root     | total   | bytes
//      +---------------+-------+-------+---------+-----------+----------+---------+- - - -
//
// `sequence` is the number of the operation. In a `broken`, `call` is an Outcome.
struct Header {
    enum class Kind : std::uint8_t {
        probe,   // begins a session, so the sender notices when this peer is lost
        data,    // the first bytes of a message; no bytes if the message is long
        more,    // the next bytes
        ready,   // the sender of this waits for the bytes of a long message
        broken,  // the sender of this takes no part in this operation and in later ones
    };
    static constexpr std::size_t size = 20;

    std::uint32_t sequence = 0;
    Kind kind = Kind::probe;
    Signature what = {};
    Outcome outcome = Outcome::ok;  // of a `broken`

    void encode(std::span<std::byte, size> to) const {
        const auto call = kind == Kind::broken ? static_cast<std::uint8_t>(outcome)
                                               : static_cast<std::uint8_t>(what.call);
        store_le_at<std::uint32_t, 0>(to, sequence);
        store_le_at<std::uint8_t, 4>(to, static_cast<std::uint8_t>(kind));
        store_le_at<std::uint8_t, 5>(to, call);
        store_le_at<std::uint8_t, 6>(to, static_cast<std::uint8_t>(what.element));
        store_le_at<std::uint8_t, 7>(to, static_cast<std::uint8_t>(what.reduction));
        store_le_at<std::uint32_t, 8>(to, what.root);
        store_le_at<std::uint64_t, 12>(to, what.total);
    }

    /// Nothing: these bytes are no message of this protocol.
    static std::optional<Header> decode(ConstBytes message) {
        if (message.size() < size) return std::nullopt;
        const auto from = message.first<size>();
        const auto kind = load_le_at<std::uint8_t, 4>(from);
        const auto call = load_le_at<std::uint8_t, 5>(from);
        const auto element = load_le_at<std::uint8_t, 6>(from);
        const auto reduction = load_le_at<std::uint8_t, 7>(from);
        if (kind > static_cast<std::uint8_t>(Kind::broken)) return std::nullopt;
        if (element > static_cast<std::uint8_t>(Element::uint64)) return std::nullopt;
        if (reduction > static_cast<std::uint8_t>(Reduction::max)) return std::nullopt;
        Header header;
        header.sequence = load_le_at<std::uint32_t, 0>(from);
        header.kind = static_cast<Kind>(kind);
        if (header.kind == Kind::broken) {
            if (call == 0 || call > static_cast<std::uint8_t>(Outcome::closed)) return std::nullopt;
            header.outcome = static_cast<Outcome>(call);
            return header;
        }
        if (call > static_cast<std::uint8_t>(Call::all_to_all)) return std::nullopt;
        header.what.call = static_cast<Call>(call);
        header.what.element = static_cast<Element>(element);
        header.what.reduction = static_cast<Reduction>(reduction);
        header.what.root = load_le_at<std::uint32_t, 8>(from);
        header.what.total = load_le_at<std::uint64_t, 12>(from);
        return header;
    }
};

}  // namespace wireproof::collective
