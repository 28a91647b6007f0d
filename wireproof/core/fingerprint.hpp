// A hash that distinguishes the states of an engine. It has 128 bits, so that among 10^9 states a
// search confuses two with a probability below 10^-20.
#pragma once

#include <compare>
#include <cstdint>
#include <type_traits>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof {

class Fingerprint {
public:
    struct Value {
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        friend constexpr auto operator<=>(const Value&, const Value&) = default;
    };

    template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
    void add(T value) {
        const auto word = static_cast<std::uint64_t>(value);
        high_ = mix64(high_ ^ word);
        low_ = mix64(low_ + 0x632BE59BD9B4E019 * (word + 1));
    }

    void add(Duration value) { add(value.picoseconds()); }

    /// Adds a deadline relative to now. Two worlds that differ only in their age are therefore
    /// equal.
    void add_deadline(Instant deadline, Instant now) {
        add(deadline == never ? Duration(-1) : deadline - now);
    }

    void add_bytes(ConstBytes bytes) {
        add(bytes.size());
        for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
            add(load_le<std::uint64_t>(bytes.first<8>()));
        }
        for (const std::byte byte : bytes) add(std::to_integer<unsigned>(byte));
    }

    Value value() const { return {high_, low_}; }

private:
    std::uint64_t high_ = 0x8000000080000001;
    std::uint64_t low_ = 0x7FFFFFFF7FFFFFFF;
};

}  // namespace wireproof
