// What a user asks a connection to move. Memory is lent until the end of it is delivered.
#pragma once

#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// Copies `source` to the peer's memory at `address`, then has it run `handler`. The source is lent
/// until StoreEnded with `tag`, or FateUnknown. What fits in the OPEN travels with it.
struct Store {
    std::uint64_t address = 0;
    ConstBytes source;
    HandlerId handler{};
    std::uint32_t argument = 0;
    std::uint64_t tag = 0;
};

/// The same when the bytes are in the peer's memory already, put there by a wire that reaches it:
/// the handler runs, and StoreEnded says when, if the caller awaits it.
struct Note {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    HandlerId handler{};
    std::uint32_t argument = 0;
    std::uint64_t tag = 0;
    bool awaited = true;  // the caller waits for its end: it is acknowledged in the same turn
};

/// Copies the peer's memory at `address` to `destination`, which is lent until GetEnded.
struct Get {
    std::uint64_t address = 0;
    Bytes destination;
    std::uint64_t tag = 0;
};

}  // namespace wireproof::am
