#include <fmt/format.h>

#include <map>
#include <optional>

#include "wireproof/app/common/text.hpp"
#include "wireproof/cli/stat_values.hpp"

namespace wireproof::cli {
namespace {

constexpr std::size_t columns = 80;

/// The kernel's names have no group.
std::string shown_name(std::string_view name) {
    for (const std::string_view group : {"counters.", "hw_counters."}) {
        if (name.starts_with(group)) name.remove_prefix(group.size());
    }
    return std::string(name);
}

/// The values of an earlier reading.
struct Earlier {
    const std::vector<std::uint64_t>* values = nullptr;  // null: there are none
    double seconds = 0;                                  // since then

    /// The growth in a second. A counter that fell belongs to something new.
    double rate(std::size_t index, std::uint64_t value) const {
        if (values == nullptr || seconds <= 0 || index >= values->size()) return 0;
        const std::uint64_t before = (*values)[index];
        return value > before ? static_cast<double>(value - before) / seconds : 0;
    }
};

class Lines {
public:
    explicit Lines(bool with_rates) : with_rates_(with_rates) {}

    void add(const std::string& line) {
        end_pair();
        text_ += app::shortened(line, columns) + "\n";
    }
    /// The counters that are not 0: two in a line, or one with its rate.
    void add(const std::vector<host::PublishedCounter>& counters,
             const std::vector<std::uint64_t>& values, const Earlier& earlier) {
        for (std::size_t i = 0; i < counters.size(); ++i) {
            const std::string name = shown_name(counters[i].name);
            if (values[i] == 0 || name == "device.queue_pairs") continue;
            if (with_rates_) {
                const bool grows = counters[i].kind == host::CounterKind::counter;
                text_ += fmt::format("{:<33} {:>20} ", app::shortened(name, 33), values[i]);
                text_ += grows ? fmt::format("{:>19.1f} /s\n", earlier.rate(i, values[i])) : "\n";
            } else {
                add_to_pair(fmt::format("{:<27} {:>11}", app::shortened(name, 27), values[i]));
            }
        }
        end_pair();
    }
    std::string take() {
        end_pair();
        return std::move(text_);
    }

private:
    void add_to_pair(const std::string& one) {
        text_ += right_ ? "  " + one + "\n" : one;
        right_ = !right_;
    }
    void end_pair() {
        if (right_) text_ += "\n";
        right_ = false;
    }

    bool with_rates_;
    bool right_ = false;
    std::string text_;
};

std::string count_of(const StatOf& one, std::string_view name) {
    const auto& totals = one.counters.totals;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        if (totals[i].name == name) return std::to_string(one.counters.values[i]);
    }
    return "?";
}

std::string title_of(const StatOf& one) {
    const std::string start = fmt::format("process {}  {}  ", one.process, one.program);
    if (one.is_endpoint()) {
        return start + fmt::format("node {} of {} at {}", one.detail("node"), one.detail("nodes"),
                                   one.detail("address"));
    }
    return start + fmt::format("{} at {}  {} queue pairs",
                               one.is_verbs() ? one.detail("name") : "Device",
                               one.detail("address"), count_of(one, "device.queue_pairs"));
}

std::string time_line(const StatOf& one) {
    const host::PublishedSection& counters = one.counters;
    std::string line =
        fmt::format("values of {:.2f} s ago", static_cast<double>(counters.age_ns) * 1e-9);
    if (!counters.is_consistent) line += ", read while the program changed them";
    if (counters.rows_missing > 0) {
        line += fmt::format("; {} more {} are not shown", counters.rows_missing,
                            one.is_endpoint() ? "peers" : "queue pairs");
    }
    return line;
}

std::string title_of(const StatOf& one, const host::PublishedRow& row) {
    const auto detail = [&row](const char* key) { return detail_of(row.details, key); };
    if (one.is_endpoint()) {
        const std::string path = fmt::format("peer {}  {}", row.name, detail("path"));
        return detail("address") == "?" ? path : path + "  at " + detail("address");
    }
    const std::string start =
        fmt::format("queue pair {}  {} {}", row.name, detail("transport"), detail("state"));
    if (detail("peer") == "?") return start;
    return start + fmt::format("  to {} of {}", detail("peer_queue_pair"), detail("peer"));
}

/// Queue pair 1 manages connections. It is of interest only after a request for a connection.
bool is_silent(const StatOf& one, const host::PublishedRow& row) {
    if (one.is_endpoint() || row.name != "1") return false;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        const std::string& name = one.counters.row_counters[i].name;
        if ((name == "executed" || name == "sent") && row.values[i] != 0) return false;
    }
    return true;
}

bool is_same(const StatOf& a, const StatOf& b) {
    return a.process == b.process && a.counters.source == b.counters.source &&
           a.counters.started_unix_ns == b.counters.started_unix_ns &&
           a.counters.details == b.counters.details;
}

Earlier row_of(const StatOf* before, const host::PublishedRow& row, double seconds) {
    if (before == nullptr) return {};
    for (const host::PublishedRow& other : before->counters.rows) {
        if (other.name == row.name) return {&other.values, seconds};
    }
    return {};
}

void add(Lines& lines, const StatOf& one, const StatOf* before) {
    lines.add(title_of(one));
    lines.add(time_line(one));
    const host::PublishedSection& now = one.counters;
    double seconds = 0;
    if (before != nullptr && now.updated_ns > before->counters.updated_ns) {
        seconds = static_cast<double>(now.updated_ns - before->counters.updated_ns) * 1e-9;
    }
    lines.add(now.totals, now.values,
              before != nullptr ? Earlier{&before->counters.values, seconds} : Earlier());
    for (const host::PublishedRow& row : now.rows) {
        if (is_silent(one, row)) continue;
        lines.add(title_of(one, row));
        lines.add(now.row_counters, row.values, row_of(before, row, seconds));
    }
}

std::string text_of(const std::vector<StatOf>& all, const std::vector<StatOf>* before) {
    if (all.empty()) {
        return "no program that you may look into has opened an Endpoint or a device\n";
    }
    std::string text;
    for (const StatOf& one : all) {
        const StatOf* earlier = nullptr;
        for (std::size_t i = 0; before != nullptr && i < before->size(); ++i) {
            if (is_same((*before)[i], one)) earlier = &(*before)[i];
        }
        Lines lines(before != nullptr);
        add(lines, one, earlier);
        if (!text.empty()) text += "\n";
        text += lines.take();
    }
    return text;
}

}  // namespace

std::string stat_text(const std::vector<StatOf>& all) {
    return text_of(all, nullptr);
}

std::string stat_rates(const std::vector<StatOf>& all, const std::vector<StatOf>& before) {
    return text_of(all, &before);
}

}  // namespace wireproof::cli
