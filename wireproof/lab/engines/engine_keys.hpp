// The keys of the table [engine] in a scenario file. An adapter reads its settings through this
// interface and need not include the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

/// Each call takes one key. It changes nothing if the key is missing, or if its value is wrong:
/// then the interface keeps a complaint with line and column.
class EngineKeys {
public:
    /// A time in nanoseconds, from `least` to 10^9. By custom the key ends with `_ns`.
    virtual void time(std::string_view key, Duration& value, std::int64_t least = 0) = 0;
    virtual void truth(std::string_view key, bool& value) = 0;
    /// The place of the word in `words`, the allowed words.
    virtual std::optional<std::size_t> word(std::string_view key,
                                            std::span<const std::string_view> words) = 0;
    virtual std::optional<std::int64_t> whole(std::string_view key, std::int64_t least,
                                              std::int64_t most) = 0;

    template <class Number>
    void number(std::string_view key, Number& value, std::int64_t least, std::int64_t most) {
        if (const auto given = whole(key, least, most)) value = static_cast<Number>(*given);
    }

protected:
    ~EngineKeys() = default;
};

}  // namespace wireproof::lab
