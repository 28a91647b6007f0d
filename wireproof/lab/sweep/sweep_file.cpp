#include "wireproof/lab/sweep/sweep_file.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "wireproof/base/toml_text.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/link_retry/retry_unit_line.hpp"

namespace wireproof::lab {
namespace {

using namespace toml_text;

constexpr std::size_t points_max = 1'000'000;

std::string name_from(std::string_view file) {
    file = file.substr(file.rfind('/') + 1);
    file = file.substr(0, file.rfind('.'));
    return is_plain(file) && !file.empty() && file.size() <= 60 ? std::string(file) : "sweep";
}

using Places = std::vector<toml::source_position>;

/// The lists of a grid, one for each setting that varies. If a list is empty, the value of the
/// preset holds, otherwise that of RetrySettings.
struct Axes {
    std::vector<RetryProtocol> protocols;
    std::vector<const RetryPreset*> presets;
    std::vector<double> bit_errors{1e-9};
    std::vector<std::uint32_t> payloads;
    std::vector<std::uint64_t> loops;
    std::vector<std::uint32_t> buffers;
    std::vector<std::uint32_t> acks;
    std::vector<std::uint64_t> timers;
    std::vector<bool> loaded;
    std::vector<RetryFec> fecs;
    std::vector<std::uint32_t> burst_bits;

    std::map<std::string, Places, std::less<>> places = {};  // of the values, by the key
};

/// The number of points that a list makes from one point.
template <class Value>
double times(const std::vector<Value>& axis) {
    return static_cast<double>(std::max<std::size_t>(axis.size(), 1));
}

/// As Section::list, and keeps the places of the values.
template <class Value, class Read>
void read_list(Section& grid, Axes& axes, std::string_view key, std::vector<Value>& values,
               Read&& read) {
    Places& places = axes.places[std::string(key)];
    grid.list(key, values, [&](const toml::node& node) {
        places.push_back(node.source().begin);
        read(node);
    });
}

void read_protocols(Section& grid, Axes& axes) {
    read_list(grid, axes, "protocol", axes.protocols, [&](const toml::node& node) {
        const auto name = node.value_exact<std::string_view>();
        const auto known = name ? retry_protocol(*name) : std::nullopt;
        if (known) {
            axes.protocols.push_back(*known);
        } else {
            grid.complain(node, quoted("protocol") + " must be " + one_of(retry_protocol_names));
        }
    });
}

void read_presets(Section& grid, Axes& axes) {
    read_list(grid, axes, "preset", axes.presets, [&](const toml::node& node) {
        const auto name = node.value_exact<std::string_view>();
        const RetryPreset* const known = name ? retry_preset(*name) : nullptr;
        if (known == nullptr) {
            grid.complain(node, "there is no such preset; wireproof sweep --presets lists them");
        } else if (!axes.protocols.empty()) {
            grid.complain(node, "a preset has its own protocol: give one of both");
        } else {
            axes.presets.push_back(known);
        }
    });
}

std::optional<double> rate_of(Section& grid, const toml::node& node) {
    const auto rate = node.is_number() ? node.value<double>() : std::nullopt;
    if (rate && (*rate == 0 || (*rate >= 1e-17 && *rate <= 0.1))) return rate;
    grid.complain(node, "a bit error rate is 0, or 1e-17 to 0.1");
    return std::nullopt;
}

// Rates, or { from = 1e-9, to = 1e-4, points = 13 }: equal steps of the logarithm.
void read_rates(Section& grid, Axes& axes) {
    std::vector<double>& rates = axes.bit_errors;
    const toml::node* const node = grid.take("ber");
    if (node == nullptr) return;
    if (!node->is_table()) {
        read_list(grid, axes, "ber", rates, [&](const toml::node& one) {
            if (const auto rate = rate_of(grid, one)) rates.push_back(*rate);
        });
        return;
    }
    grid.table("ber", [&](Section& range) {
        const toml::node* const from = range.take("from");
        const toml::node* const to = range.take("to");
        std::int64_t points = 0;
        range.number("points", points, 2, 1000);
        if (from == nullptr) return range.miss("from");
        if (to == nullptr) return range.miss("to");
        if (range.take("points") == nullptr) return range.miss("points");
        const auto first = rate_of(range, *from);
        const auto last = rate_of(range, *to);
        if (!first || !last || points == 0) return;
        if (*first == 0 || *last == 0) return range.complain(*from, "a range begins above 0");
        rates.clear();
        const double step = std::log10(*last / *first) / static_cast<double>(points - 1);
        for (std::int64_t i = 0; i < points; ++i) {
            // Rounds to five digits, so that the rate is equal to the printed one.
            const double exact = std::log10(*first) + step * static_cast<double>(i);
            const double unit = std::pow(10.0, 4 - std::floor(exact + 1e-9));
            rates.push_back(std::round(std::pow(10.0, exact) * unit) / unit);
            axes.places["ber"].push_back(node->source().begin);
        }
    });
}

template <class Value>
void read_wholes(Section& grid, Axes& axes, std::string_view key, std::vector<Value>& values,
                 std::int64_t least, std::int64_t most) {
    read_list(grid, axes, key, values, [&](const toml::node& node) {
        if (const auto value = grid.whole_of(node, key, least, most)) {
            values.push_back(static_cast<Value>(*value));
        }
    });
}

void read_grid(Section& grid, Axes& axes) {
    read_protocols(grid, axes);
    read_presets(grid, axes);
    read_rates(grid, axes);
    read_wholes(grid, axes, "payload", axes.payloads, 1, 65536);
    read_wholes(grid, axes, "loop", axes.loops, 0, 100'000'000);
    read_wholes(grid, axes, "buffer", axes.buffers, 1, 524'288);
    read_wholes(grid, axes, "ack_every", axes.acks, 1, 1024);
    read_wholes(grid, axes, "timer", axes.timers, 1, 10'000'000'000);
    read_wholes(grid, axes, "burst_bits", axes.burst_bits, 1, 256);
    read_list(grid, axes, "fec", axes.fecs, [&](const toml::node& node) {
        const auto given = node.value_exact<std::string_view>();
        if (given == "on" || given == "off") {
            axes.fecs.push_back(given == "on" ? RetryFec::on : RetryFec::off);
        } else {
            grid.complain(node, "\"fec\" must be \"on\" or \"off\"");
        }
    });
    read_list(grid, axes, "loaded_back", axes.loaded, [&](const toml::node& node) {
        if (const auto given = node.value_exact<bool>()) {
            axes.loaded.push_back(*given);
        } else {
            grid.complain(node, "\"loaded_back\" must be true or false");
        }
    });
}

void read_fixed(Section& line, Axes& axes, RetrySettings& all, std::string& loss_trace) {
    for (const std::string_view key : {"clean_back", "renak_on_bad_head", "notice_loss", "lanes",
                                       "lane_correlation", "bursts"}) {
        if (const toml::node* const node = line.take(key)) {
            axes.places[std::string(key)] = {node->source().begin};
        }
    }
    line.truth("clean_back", all.clean_back);
    line.text("loss_trace", loss_trace, 4096);
    line.truth("renak_on_bad_head", all.renak_on_bad_head);
    line.probability("notice_loss", all.notice_loss);
    line.number("lanes", all.lanes, 1, 32);
    line.probability("lane_correlation", all.lane_correlation);
    line.table("bursts", [&](Section& bursts) {
        bursts.probability("begin", all.bursts.begin);
        if (bursts.take("begin") == nullptr) bursts.miss("begin");
        bursts.probability("end", all.bursts.end);
        bursts.probability("bad", all.bursts.loss_in_burst);
    });
}

std::vector<RetrySettings> multiply(const Axes& axes, const RetrySettings& all) {
    std::vector<RetrySettings> points{all};
    const auto vary = [&points](const auto& values, auto&& set) {
        if (values.empty()) return;
        std::vector<RetrySettings> more;
        for (const RetrySettings& point : points) {
            for (const auto value : values) {
                set(more.emplace_back(point), value);
                if (more.size() > points_max) return;
            }
        }
        points = std::move(more);
    };
    vary(axes.protocols, [](RetrySettings& s, RetryProtocol value) { s.protocol = value; });
    vary(axes.presets,
         [&all](RetrySettings& s, const RetryPreset* value) { s = with_preset(all, *value); });
    vary(axes.payloads, [](RetrySettings& s, std::uint32_t value) { s.payload = value; });
    vary(axes.loops, [](RetrySettings& s, std::uint64_t value) { s.loop = value; });
    vary(axes.buffers, [](RetrySettings& s, std::uint32_t value) { s.buffer = value; });
    vary(axes.acks, [](RetrySettings& s, std::uint32_t value) { s.ack_every = value; });
    vary(axes.timers, [](RetrySettings& s, std::uint64_t value) { s.timer = value; });
    vary(axes.fecs, [](RetrySettings& s, RetryFec value) { s.fec = value; });
    vary(axes.burst_bits, [](RetrySettings& s, std::uint32_t value) { s.burst_bits = value; });
    vary(axes.loaded, [](RetrySettings& s, bool value) { s.loaded_back = value; });
    vary(axes.bit_errors, [](RetrySettings& s, double value) { s.bit_error = value; });
    return points;
}

// A grid may have protocols with different settings: a setting that the protocol does not have is
// removed from the point.
void fit_to_protocol(RetrySettings& settings) {
    settings = fit_line(settings);
    if (const LinkSweep* const of = link_sweep_of(settings.protocol)) {
        LinkEngines::visit(of->engine, [&]<class Adapter>() { Adapter::fit(settings, of->sweep); });
        return;
    }
    settings.renak_on_bad_head = false;
    switch (settings.protocol) {
        case RetryProtocol::sp_am:
        case RetryProtocol::sp_am_selective:
        case RetryProtocol::rc: settings.ack_every = 0; break;
        case RetryProtocol::uc:
            settings.buffer = settings.ack_every = 0;
            settings.timer = 0;
            settings.notice_loss = 0;
            settings.loaded_back = false;
            break;
        case RetryProtocol::go_back_n:
        case RetryProtocol::ideal:
            settings.timer = 0;
            settings.notice_loss = 0;
            settings.loaded_back = false;
            break;
        default: break;
    }
}

/// Finds the key of a point that cannot work: without its value, the point works.
class Culprit {
public:
    Culprit(const Axes& axes, const RetrySettings& point, std::string_view message)
        : axes_(axes), point_(point), message_(message) {}

    /// Nothing if no key alone is to blame.
    std::optional<toml::source_position> place() {
        // The protocol is to blame if a setting that it refuses is not: it has the least claim.
        consider("payload", axes_.payloads, &RetrySettings::payload);
        consider("loop", axes_.loops, &RetrySettings::loop);
        consider("buffer", axes_.buffers, &RetrySettings::buffer);
        consider("ack_every", axes_.acks, &RetrySettings::ack_every);
        consider("timer", axes_.timers, &RetrySettings::timer);
        consider("burst_bits", axes_.burst_bits, &RetrySettings::burst_bits);
        consider("fec", axes_.fecs, &RetrySettings::fec);
        consider("loaded_back", axes_.loaded, &RetrySettings::loaded_back);
        consider("clean_back", no_list<bool>, &RetrySettings::clean_back);
        consider("renak_on_bad_head", no_list<bool>, &RetrySettings::renak_on_bad_head);
        consider("notice_loss", no_list<double>, &RetrySettings::notice_loss);
        consider("lanes", no_list<std::uint32_t>, &RetrySettings::lanes);
        consider("lane_correlation", no_list<double>, &RetrySettings::lane_correlation);
        consider("bursts", no_list<LossBursts>, &RetrySettings::bursts);
        consider("protocol", axes_.protocols, &RetrySettings::protocol);
        consider("preset", axes_.presets, &RetrySettings::preset);
        return best_;
    }

private:
    template <class Value>
    static constexpr std::vector<Value> no_list = {};

    /// `values`: the list of the key in the grid; empty if the key has one value.
    template <class Value>
    void consider(std::string_view key, const std::vector<Value>& values,
                  Value RetrySettings::*member) {
        const auto places = axes_.places.find(key);
        if (places == axes_.places.end() || places->second.empty()) return;
        RetrySettings without = point_;
        without.*member = RetrySettings().*member;
        if (!resolve(without)) return;
        const bool is_named = message_.find(key.substr(0, key.find('_'))) != message_.npos;
        if (best_ && (named_ || !is_named)) return;
        std::size_t at = 0;
        if constexpr (requires(const Value& value) { value == value; }) {
            const auto found = std::find(values.begin(), values.end(), point_.*member);
            if (found != values.end()) at = static_cast<std::size_t>(found - values.begin());
        }
        best_ = places->second[std::min(at, places->second.size() - 1)];
        named_ = is_named;
    }

    const Axes& axes_;
    const RetrySettings& point_;
    std::string_view message_;
    std::optional<toml::source_position> best_ = {};
    bool named_ = false;  // the message has the name of its key
};

// Of points that are equal after that, keeps the first.
void leave_out_equal(std::vector<RetrySettings>& points) {
    std::set<RetrySettings> seen;
    std::erase_if(points,
                  [&seen](const RetrySettings& point) { return !seen.insert(point).second; });
}

void read_measure(Section& root, std::string_view key, double& value, double least, double most,
                  std::string_view range) {
    const toml::node* const node = root.take(key);
    if (node == nullptr) return;
    const auto given = node->is_number() ? node->value<double>() : std::nullopt;
    if (given && *given >= least && *given <= most) {
        value = *given;
        return;
    }
    root.complain(*node, quoted(key) + " must be " + std::string(range));
}

void read_all(Section& root, Sweep& sweep, Complaints& complaints) {
    root.text("name", sweep.name, 60);
    if (sweep.name.find('/') != std::string::npos) {
        root.complain(*root.take("name"), "\"name\" is of files in this folder, without a /");
    }
    root.number("seed", sweep.plan.seed, 0, whole_max);
    root.number("packets", sweep.plan.packets, 1, 1'000'000'000'000'000'000);
    root.number("packets_max", sweep.plan.packets_max, 1, 1'000'000'000'000'000'000);
    read_measure(root, "relative_error", sweep.plan.relative_error, 1e-4, 0.5, "0.0001 to 0.5");
    read_measure(root, "point_seconds", sweep.point_seconds, point_seconds_min, point_seconds_max,
                 "0.01 to 10000000");
    Axes axes;
    RetrySettings all;
    toml::source_position grid_at = root.at();
    root.table("grid", [&](Section& grid) {
        grid_at = grid.at();
        read_grid(grid, axes);
    });
    if (root.take("grid") == nullptr) root.miss("grid");
    root.table("line", [&](Section& line) { read_fixed(line, axes, all, sweep.loss_trace); });
    root.finish();
    if (!complaints.none()) return;
    const double size = times(axes.protocols) * times(axes.presets) * times(axes.bit_errors) *
                        times(axes.payloads) * times(axes.loops) * times(axes.buffers) *
                        times(axes.acks) * times(axes.timers) * times(axes.loaded) *
                        times(axes.fecs) * times(axes.burst_bits);
    if (size > static_cast<double>(points_max)) {
        complaints.add(grid_at, "this grid has more than a million points");
        return;
    }
    sweep.points = multiply(axes, all);
    for (RetrySettings& point : sweep.points) {
        fit_to_protocol(point);
        if (const auto link = resolve(point); !link) {
            const auto place = Culprit(axes, point, link.error().message).place();
            complaints.add(place.value_or(grid_at),
                           std::string(name_of(point.protocol)) + " with a payload of " +
                               std::to_string(point.payload) + " bytes: " + link.error().message);
            return;
        }
    }
    leave_out_equal(sweep.points);
}

}  // namespace

Expected<Sweep> read_sweep(std::string_view text, std::string_view file) {
    Complaints complaints;
    Sweep sweep;
    sweep.name = name_from(file);
    const auto read = [&](Section& root) { read_all(root, sweep, complaints); };
    if (!read_toml(text, complaints, read)) return complaints.in(file);
    return sweep;
}

}  // namespace wireproof::lab
