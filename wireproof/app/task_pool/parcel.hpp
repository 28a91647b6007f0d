// What ranks of a job send each other, and its form in messages of limited length.
//
//     parcel  | kind 1 | task 8 | room 8 | bytes ... |      little-endian
//     part    | 1 if it is the last part of its parcel, else 0 | bytes of the parcel ... |
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof::task_pool {

struct Parcel {
    enum class Kind : std::uint8_t {
        hello,   // to rank 0: the sender is there; bytes: its program
        setup,   // from rank 0; bytes: what a rank must know before it can do tasks
        ready,   // to rank 0: room
        task,    // from rank 0: task
        result,  // to rank 0: task, room, bytes
        failed,  // to rank 0: the task cannot be done; bytes: why, in one line
        end,     // from rank 0: there is no more work
    };

    Kind kind = Kind::hello;
    std::uint64_t task = 0;
    std::uint64_t room = 0;  // how many tasks the sender takes at a time
    std::string bytes{};

    std::string encode() const;
    /// Empty: this is no parcel.
    static std::optional<Parcel> decode(const std::string& encoded);

    friend bool operator==(const Parcel&, const Parcel&) = default;
};

/// The parts of an encoded parcel, each of at most `part_max` bytes; at least 2.
std::vector<std::string> parts_of(const std::string& encoded, std::size_t part_max);

/// Puts the parts of one sender together. They must arrive in order.
class ParcelParts {
public:
    /// Returns the encoded parcel if this was its last part. A part without bytes adds nothing.
    std::optional<std::string> add(ConstBytes part);

private:
    std::string begun_;
};

}  // namespace wireproof::task_pool
