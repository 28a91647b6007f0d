// The transfers that a user asks for. The user lends the memory until the end of the transfer is
// delivered.
#pragma once

#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// Copies `source` to the peer's memory at `address`; then the peer runs `handler`. The source is
/// lent until StoreEnded with `tag`, or FateUnknown. The OPEN carries the first bytes.
struct Store {
    std::uint64_t address = 0;
    ConstBytes source;
    HandlerId handler{};
    std::uint32_t argument = 0;
    std::uint64_t tag = 0;
};

/// A store whose bytes are in the peer's memory already: a wire that reaches this memory has
/// written them. The handler runs. StoreEnded says when, if the caller awaits it.
struct Note {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    HandlerId handler{};
    std::uint32_t argument = 0;
    std::uint64_t tag = 0;
    bool awaited = true;  // the caller waits for the end, so the peer acknowledges in the same turn
};

/// Copies the peer's memory at `address` to `destination`, which is lent until GetEnded.
struct Get {
    std::uint64_t address = 0;
    Bytes destination;
    std::uint64_t tag = 0;
};

}  // namespace wireproof::am
