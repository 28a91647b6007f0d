#include "wireproof/host/counters/section_parser.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace wireproof::host {
namespace {

template <class Value>
Value value_at(ConstBytes bytes, std::size_t offset) {
    Value value;
    std::memcpy(&value, bytes.subspan(offset, sizeof value).data(), sizeof value);
    return value;
}

/// Up to the first 0.
template <std::size_t size>
std::string_view text_of(const std::array<char, size>& room) {
    const auto end = std::find(room.begin(), room.end(), '\0');
    return {room.data(), static_cast<std::size_t>(end - room.begin())};
}

CounterDetails details_of(std::string_view lines) {
    CounterDetails details;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(lines.size(), line.size() + 1));
        const std::size_t equals = line.find('=');
        if (equals == line.npos || equals == 0) continue;
        details.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return details;
}

/// Other programs make names of files and of metrics from it.
bool is_counter_name(std::string_view name) {
    const auto may = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && name.back() != '.' &&
           name.find("..") == name.npos && std::ranges::all_of(name, may);
}

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

Expected<std::vector<PublishedCounter>> counters_at(ConstBytes bytes, std::size_t at,
                                                    std::size_t count) {
    std::vector<PublishedCounter> counters;
    std::set<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        const auto entry = value_at<CounterEntry>(bytes, at + i * sizeof(CounterEntry));
        const auto kind = static_cast<CounterKind>(entry.kind);
        const std::string name(text_of(entry.name));
        const std::string unit(text_of(entry.unit));
        if (!is_counter_name(name) || !is_printable(unit)) {
            return unexpected("the name of a counter has other characters than a-z 0-9 _ .");
        }
        if (kind != CounterKind::counter && kind != CounterKind::gauge) {
            return unexpected(name + " is neither a counter nor a gauge");
        }
        if (!names.insert(name).second) return unexpected(name + " is there twice");
        counters.push_back({name, unit, kind});
    }
    return counters;
}

std::vector<std::uint64_t> values_at(ConstBytes bytes, std::size_t at, std::size_t count) {
    std::vector<std::uint64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = value_at<std::uint64_t>(bytes, at + i * sizeof(std::uint64_t));
    }
    return values;
}

}  // namespace

Expected<std::size_t> used_size_of(const CounterSectionHeader& header, std::uint64_t size) {
    if (header.magic != counter_section_magic) return unexpected("not a section of counters");
    if (header.source < static_cast<std::uint32_t>(CounterSource::endpoint) ||
        header.source > static_cast<std::uint32_t>(CounterSource::verbs_device)) {
        return unexpected("it is of no known kind");
    }
    if (header.totals > counters_max || header.row_counters > counters_max ||
        header.row_places > counter_rows_max || header.rows > header.row_places) {
        return unexpected("its header has impossible numbers");
    }
    const CounterSectionShape shape{header.totals, header.row_counters, header.row_places};
    if (header.row_size != shape.row_size() || size < shape.size()) {
        return unexpected("its header has impossible sizes");
    }
    return shape.row_at(header.rows);
}

Expected<PublishedSection> parse_section(ConstBytes bytes) {
    if (bytes.size() < sizeof(CounterSectionHeader)) {
        return unexpected("it is shorter than its header");
    }
    const auto header = value_at<CounterSectionHeader>(bytes, 0);
    const CounterSectionShape shape{header.totals, header.row_counters, header.row_places};
    const auto used = used_size_of(header, shape.size());
    if (!used) return tl::unexpected(used.error());
    if (bytes.size() < *used) return unexpected("it is shorter than its header says");
    PublishedSection section;
    section.source = static_cast<CounterSource>(header.source);
    section.started_unix_ns = header.started_unix_ns;
    section.updated_ns = header.updated_ns;
    section.rows_missing = header.rows_missing;
    section.details = details_of(text_of(header.details));
    auto totals = counters_at(bytes, sizeof header, shape.totals);
    if (!totals) return tl::unexpected(totals.error());
    auto of_rows =
        counters_at(bytes, sizeof header + shape.totals * sizeof(CounterEntry), shape.row_counters);
    if (!of_rows) return tl::unexpected(of_rows.error());
    section.totals = *std::move(totals);
    section.row_counters = *std::move(of_rows);
    section.values = values_at(bytes, shape.totals_at(), shape.totals);
    std::set<std::string> names;
    for (std::size_t i = 0; i < header.rows; ++i) {
        const auto row = value_at<CounterRowHeader>(bytes, shape.row_at(i));
        std::string name(text_of(row.name));
        if (name.empty() || !is_printable(name)) return unexpected("a row has no printable name");
        if (!names.insert(name).second) return unexpected("row " + name + " is there twice");
        section.rows.push_back(
            {std::move(name), details_of(text_of(row.details)),
             values_at(bytes, shape.row_at(i) + sizeof row, shape.row_counters)});
    }
    return section;
}

}  // namespace wireproof::host
