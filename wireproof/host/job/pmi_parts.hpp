// PMI-1 and PMI2 carry only short texts. So an entry of any bytes travels in parts: hexadecimal
// digits, and in front of the first part the length of the entry, as "300:6a6f62".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

/// The longest part. PMI2 carries 1023 characters (PMI2_MAX_VALLEN), and so do launchers of PMI-1.
inline constexpr std::size_t pmi_part_max = 1000;

/// At least one part.
std::vector<std::string> pmi_parts(std::string_view entry);

/// Puts the parts together. Another process may have put anything.
class PmiEntry {
public:
    /// Takes the next part. An error says that this is no part of an entry.
    Expected<void> add(std::string_view part);
    bool complete() const { return begun_ && bytes_.size() == length_; }
    std::string take() { return std::move(bytes_); }

private:
    bool begun_ = false;
    std::size_t length_ = 0;
    std::string bytes_;
};

}  // namespace wireproof::host
