#include "wireproof/front/am/job_paths.hpp"

#include <algorithm>
#include <charconv>

namespace wireproof::am {
namespace {

/// Reads a number from the beginning of `text` and removes it. False: there is none, or it is not
/// below `end`.
bool take_number(std::string_view& text, std::size_t end, std::size_t& number) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number >= end) return false;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return true;
}

bool take(std::string_view& text, char letter) {
    if (text.empty() || text.front() != letter) return false;
    text.remove_prefix(1);
    return true;
}

constexpr std::string_view failure = "! ";

}  // namespace

std::string failed_rank(std::string_view why) {
    return std::string(failure) + std::string(why);
}

std::string failure_in(std::string_view text) {
    return std::string(text.starts_with(failure) ? text.substr(failure.size()) : "");
}

std::string RankEntry::to_text() const {
    std::string text;
    for (const std::string& address : addresses) text += (text.empty() ? "" : ",") + address;
    text += ' ' + std::to_string(descriptors) + ' ';
    for (std::size_t i = 0; i < reached.size();) {
        std::size_t last = i;
        while (last + 1 < reached.size() && reached[last + 1] == reached[last] + 1) ++last;
        if (i > 0) text += ',';
        text += std::to_string(reached[i]);
        if (last > i) text += '-' + std::to_string(reached[last]);
        i = last + 1;
    }
    return text;
}

// The ranks ascend, so the entry of a hostile rank never names more ranks than the job has.
Expected<RankEntry> RankEntry::parse(std::string_view text, std::size_t size, std::size_t threads) {
    const auto wrong = [text] {
        return unexpected("\"" + std::string(text.substr(0, 80)) + "\" is no entry of a rank");
    };
    const std::size_t space = text.find(' ');
    if (space == text.npos) return wrong();
    RankEntry entry;
    std::string_view addresses = text.substr(0, space);
    const auto count =
        static_cast<std::size_t>(std::count(addresses.begin(), addresses.end(), ',')) + 1;
    if (count != threads) {
        return unexpected("it has " + std::to_string(count) + " threads, and this process has " +
                          std::to_string(threads));
    }
    for (std::size_t i = 0; i < threads; ++i) {
        const std::string_view address = addresses.substr(0, addresses.find(','));
        if (address.empty()) return wrong();
        entry.addresses.emplace_back(address);
        addresses.remove_prefix(std::min(addresses.size(), address.size() + 1));
    }
    std::string_view rest = text.substr(space + 1);
    constexpr std::size_t descriptors_end = std::size_t{1} << 31;
    if (!take_number(rest, descriptors_end, entry.descriptors) || !take(rest, ' ')) return wrong();
    std::size_t next = 0;
    while (!rest.empty()) {
        std::size_t first = 0;
        if (next > 0 && !take(rest, ',')) return wrong();
        if (!take_number(rest, size, first) || first < next) return wrong();
        std::size_t last = first;
        if (take(rest, '-') && (!take_number(rest, size, last) || last <= first)) return wrong();
        for (std::size_t rank = first; rank <= last; ++rank) entry.reached.push_back(rank);
        next = last + 1;
    }
    return entry;
}

std::vector<bool> sharing_ranks(std::size_t self, std::span<const std::string> group,
                                std::span<const RankEntry> entries) {
    const auto reaches = [&](std::size_t from, std::size_t to) {
        const auto& reached = entries[from].reached;
        return from == to || std::binary_search(reached.begin(), reached.end(), to);
    };
    std::vector<bool> sharing(entries.size());
    std::size_t most = sharing_max;
    for (std::size_t rank = 0; rank < entries.size(); ++rank) {
        if (group[rank] != group[self]) continue;
        most = std::min(most, entries[rank].descriptors / entries[rank].addresses.size() + 1);
    }
    std::size_t nodes = 0;
    for (std::size_t rank = 0; rank < entries.size(); ++rank) {
        if (group[rank] != group[self]) continue;
        nodes += entries[rank].addresses.size();
        if (nodes > most) break;
        sharing[rank] = reaches(self, rank) && reaches(rank, self);
    }
    if (!sharing[self]) sharing.assign(entries.size(), false);
    return sharing;
}

}  // namespace wireproof::am
