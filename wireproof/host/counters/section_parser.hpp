// Makes values of the bytes of a section that another process wrote.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/host/counters/counter_reader.hpp"
#include "wireproof/host/counters/layout.hpp"

namespace wireproof::host {

/// How many bytes of a section of `size` bytes are in use, or why its header is wrong.
Expected<std::size_t> used_size_of(const CounterSectionHeader& header, std::uint64_t size);

/// `bytes` may be of any length. The caller knows the time: it sets `age_ns`.
Expected<PublishedSection> parse_section(ConstBytes bytes);

}  // namespace wireproof::host
