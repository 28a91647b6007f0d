#include "wireproof/host/job/pmi_parts.hpp"

#include <optional>

#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/rendezvous/rendezvous_text.hpp"

namespace wireproof::host {
namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef";

std::optional<std::size_t> digit_of(char c) {
    const std::size_t at = hexadecimal.find(c);
    if (at == hexadecimal.npos) return {};
    return at;
}

}  // namespace

std::vector<std::string> pmi_parts(std::string_view entry) {
    std::vector<std::string> parts{std::to_string(entry.size()) + ":"};
    for (const char c : entry) {
        if (parts.back().size() + 2 > pmi_part_max) parts.emplace_back();
        const auto byte = static_cast<unsigned char>(c);
        parts.back() += hexadecimal[byte >> 4];
        parts.back() += hexadecimal[byte & 0xF];
    }
    return parts;
}

Expected<void> PmiEntry::add(std::string_view part) {
    if (!begun_) {
        const std::size_t colon = part.find(':');
        const auto length = number_of(part.substr(0, colon), JobBoard::entry_max);
        if (colon == part.npos || !length) return unexpected("no entry of Wireproof");
        begun_ = true;
        length_ = *length;
        part.remove_prefix(colon + 1);
    } else if (part.empty()) {
        return unexpected("an empty part of an entry");
    }
    if (part.size() % 2 != 0 || part.size() / 2 > length_ - bytes_.size()) {
        return unexpected("a part of an entry that is too long");
    }
    for (std::size_t i = 0; i < part.size(); i += 2) {
        const auto high = digit_of(part[i]);
        const auto low = digit_of(part[i + 1]);
        if (!high || !low) return unexpected("a part of an entry with strange characters");
        bytes_ += static_cast<char>(*high << 4 | *low);
    }
    return {};
}

}  // namespace wireproof::host
