// The counters in the text exposition format of Prometheus. A scrape fails as a whole if one line
// is wrong or one sample is there twice, so whatever another process publishes, this text is valid.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "wireproof/cli/stat_values.hpp"

namespace wireproof::cli {
namespace {

/// "{pid="4711",…}" without the last brace.
class Labels {
public:
    void add(std::string_view name, std::string_view value) {
        text_ += text_.empty() ? "{" : ",";
        text_ += name;
        text_ += "=\"";
        for (const char c : value) {
            if (c == '\\' || c == '"') text_ += '\\';
            text_ += c;  // the text is printable, so it has no newline
        }
        text_ += '"';
    }
    std::string text() const { return text_ + "}"; }

private:
    std::string text_;
};

/// All samples of one name.
struct Family {
    std::string help;
    std::string type;
    std::map<std::string, std::string> samples;  // value by labels
};

class Exposition {
public:
    void add(const std::string& name, const std::string& help, const std::string& type,
             const Labels& labels, std::string value) {
        Family& family = families_[name];
        if (family.type.empty()) {
            family.help = help;
            family.type = type;
        }
        // A name has one type. Only a process that publishes nonsense gives it another.
        if (family.type == type) family.samples.emplace(labels.text(), std::move(value));
    }
    std::string text() const {
        std::string text;
        for (const auto& [name, family] : families_) {
            text +=
                fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, family.help, name, family.type);
            for (const auto& [labels, value] : family.samples) {
                text += fmt::format("{}{} {}\n", name, labels, value);
            }
        }
        return text;
    }

private:
    std::map<std::string, Family> families_;
};

std::string prefix_of(const StatOf& one) {
    if (one.is_endpoint()) return "wireproof_am_";
    return one.is_verbs() ? "wireproof_verbs_" : "wireproof_ib_";
}

Labels labels_of(const StatOf& one) {
    Labels labels;
    labels.add("pid", std::to_string(one.process));
    labels.add("program", one.program);
    if (one.is_endpoint()) {
        labels.add("endpoint", one.detail("address"));
        labels.add("node", one.detail("node"));
    } else {
        labels.add("device", one.is_verbs() ? one.detail("name") : one.detail("address"));
    }
    return labels;
}

Labels labels_of(const StatOf& one, const host::PublishedRow& row) {
    Labels labels = labels_of(one);
    if (one.is_endpoint()) {
        labels.add("peer", row.name);
    } else {
        labels.add("queue_pair", row.name);
        labels.add("peer", detail_of(row.details, "peer"));
    }
    return labels;
}

void add_counters(Exposition& to, const std::string& prefix, const Labels& labels,
                  const std::vector<host::PublishedCounter>& counters,
                  const std::vector<std::uint64_t>& values) {
    for (std::size_t i = 0; i < counters.size(); ++i) {
        const bool grows = counters[i].kind == host::CounterKind::counter;
        std::string name = prefix + counters[i].name;
        std::ranges::replace(name, '.', '_');
        if (grows) name += "_total";
        std::string help = counters[i].name + ", in " + counters[i].unit;
        for (std::size_t at = help.find('\\'); at != help.npos; at = help.find('\\', at + 2)) {
            help.insert(at, "\\");
        }
        to.add(name, help, grows ? "counter" : "gauge", labels, std::to_string(values[i]));
    }
}

}  // namespace

std::string stat_exposition(const std::vector<StatOf>& all) {
    Exposition to;
    for (const StatOf& one : all) {
        const std::string prefix = prefix_of(one);
        const Labels labels = labels_of(one);
        const host::PublishedSection& counters = one.counters;
        to.add(prefix + "start_time_seconds", "when the counters were 0, since 1970", "gauge",
               labels, fmt::format("{:.3f}", static_cast<double>(counters.started_unix_ns) * 1e-9));
        to.add(prefix + "age_seconds", "how long ago the values were copied", "gauge", labels,
               fmt::format("{:.3f}", static_cast<double>(counters.age_ns) * 1e-9));
        to.add(prefix + "rows_missing", "peers or queue pairs that are not in the file of counters",
               "gauge", labels, std::to_string(counters.rows_missing));
        add_counters(to, prefix, labels, counters.totals, counters.values);
        const std::string of_row = prefix + (one.is_endpoint() ? "peer_" : "queue_pair_");
        for (const host::PublishedRow& row : counters.rows) {
            add_counters(to, of_row, labels_of(one, row), counters.row_counters, row.values);
        }
    }
    return to.text();
}

}  // namespace wireproof::cli
