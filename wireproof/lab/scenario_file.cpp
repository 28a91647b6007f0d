// The one place that includes the TOML parser: it takes longer to compile than all the rest.
#include "wireproof/lab/scenario_file.hpp"

// Some bytes that are no TOML break what the parser asserts of itself ("[[["); without assertions
// it takes them for impossible, and anything may happen. So its assertions stay, and throw.
#undef NDEBUG
namespace {
struct BrokenAssertion {};
[[noreturn]] void break_off() {
    throw BrokenAssertion();
}
}  // namespace
#define TOML_ASSERT(condition) (static_cast<bool>(condition) ? void() : break_off())
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

#include <algorithm>
#include <initializer_list>

namespace wireproof::lab {
namespace {

constexpr std::int64_t whole_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t nanoseconds_max = 1'000'000'000;  // a second

/// Keeps the complaint that stands first in the file. That a key is missing comes last: there may
/// be one that was only misspelt.
class Complaints {
public:
    void add(toml::source_position at, std::string what) {
        if (!what_.empty() && !(at < at_)) return;
        at_ = at;
        what_ = std::move(what);
    }
    void add_missing(toml::source_position at, std::string what) {
        if (!missing_.empty()) return;
        missing_at_ = at;
        missing_ = std::move(what);
    }
    bool none() const { return what_.empty() && missing_.empty(); }
    tl::unexpected<Error> in(std::string_view file) const {
        const bool missing = what_.empty();
        const toml::source_position at = missing ? missing_at_ : at_;
        std::string line = missing ? missing_ : what_;
        for (char& c : line) {
            if (static_cast<unsigned char>(c) < ' ') c = ' ';
        }
        return unexpected(std::string(file) + ":" + std::to_string(std::max(at.line, 1U)) + ":" +
                          std::to_string(std::max(at.column, 1U)) + ": " + line);
    }

private:
    toml::source_position at_{};
    std::string what_;
    toml::source_position missing_at_{};
    std::string missing_;
};

std::string quoted(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

/// "one of "a", "b" or "c"".
template <class Names>
std::string one_of(const Names& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
        text += quoted(names[i]);
    }
    return text;
}

// What a terminal or a picture could take for more than text: control characters, C1 included.
bool is_plain(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < ' ' || byte == 0x7F) return false;
        if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
            return false;
        }
    }
    return true;
}

/// A table whose keys are taken one after another; those that nobody took are unknown.
class Section {
public:
    Section(const toml::table& table, std::string what, Complaints& complaints)
        : table_(table), what_(std::move(what)), complaints_(complaints) {}

    const toml::node* take(std::string_view key) {
        known_.emplace_back(key);
        return table_.get(key);
    }
    toml::source_position at() const { return table_.source().begin; }
    void complain(const toml::node& node, std::string what) {
        complaints_.add(node.source().begin, std::move(what));
    }
    void miss(std::string_view key) {
        complaints_.add_missing(at(), what_ + " needs the key " + quoted(key));
    }

    void whole(std::string_view key, std::int64_t least, std::int64_t most, auto&& set) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        if (const auto value = whole_of(*node, key, least, most)) set(*value);
    }
    template <class Number>
    void number(std::string_view key, Number& value, std::int64_t least, std::int64_t most) {
        whole(key, least, most, [&](std::int64_t given) { value = static_cast<Number>(given); });
    }
    void time(std::string_view key, Duration& value, std::int64_t least = 0) {
        whole(key, least, nanoseconds_max,
              [&](std::int64_t given) { value = Duration::nanoseconds(given); });
    }
    void truth(std::string_view key, bool& value) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        if (const auto given = node->value_exact<bool>()) {
            value = *given;
        } else {
            complain(*node, quoted(key) + " must be true or false");
        }
    }
    void probability(std::string_view key, double& value) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto given = node->is_number() ? node->value<double>() : std::nullopt;
        if (given && *given >= 0 && *given <= 1) {
            value = *given;
        } else {
            complain(*node, quoted(key) + " must be a probability, 0 to 1");
        }
    }
    /// The place of the word among those allowed.
    template <class Names>
    std::optional<std::size_t> word(std::string_view key, const Names& names) {
        const toml::node* node = take(key);
        if (node == nullptr) return std::nullopt;
        const auto given = node->value_exact<std::string_view>();
        for (std::size_t i = 0; given && i < names.size(); ++i) {
            if (names[i] == *given) return i;
        }
        complain(*node, quoted(key) + " must be " + one_of(names) +
                            (given ? ", not " + quoted(*given) : std::string()));
        return std::nullopt;
    }
    void text(std::string_view key, std::string& value, std::size_t most) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto given = node->value_exact<std::string>();
        if (!given || given->empty() || given->size() > most || !is_plain(*given)) {
            complain(*node, quoted(key) + " must be plain text of 1 to " + std::to_string(most) +
                                " bytes");
        } else {
            value = *given;
        }
    }
    /// One number, or the first and the last of a range: `3` or `[3, 5]`.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> range(const toml::node& node,
                                                                 std::string_view key,
                                                                 std::int64_t least,
                                                                 std::int64_t most) {
        const toml::array* both = node.as_array();
        if (both == nullptr) {
            const auto one = whole_of(node, key, least, most);
            if (!one) return std::nullopt;
            return std::pair(static_cast<std::uint64_t>(*one), static_cast<std::uint64_t>(*one));
        }
        if (both->size() != 2) {
            complain(node, quoted(key) + " must be one number, or the first and the last of many");
            return std::nullopt;
        }
        const auto first = whole_of(*both->get(0), key, least, most);
        const auto last = whole_of(*both->get(1), key, least, most);
        if (!first || !last) return std::nullopt;
        return std::pair(static_cast<std::uint64_t>(*first), static_cast<std::uint64_t>(*last));
    }
    /// Calls `read` with each table of `[[key]]`.
    void tables(std::string_view key, auto&& read) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const toml::array* array = node->as_array();
        if (array == nullptr || !array->is_homogeneous(toml::node_type::table)) {
            if (array != nullptr && array->empty()) return;
            complain(*node,
                     quoted(key) + " must be tables, each begun by [[" + std::string(key) + "]]");
            return;
        }
        for (const toml::node& one : *array) {
            Section section(*one.as_table(), "[[" + std::string(key) + "]]", complaints_);
            read(section);
            section.finish();
        }
    }
    /// Calls `read` with the table `[key]`, if it is there.
    void table(std::string_view key, auto&& read) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        if (!node->is_table()) {
            complain(*node, quoted(key) + " must be a table, begun by [" + std::string(key) + "]");
            return;
        }
        Section section(*node->as_table(), "[" + std::string(key) + "]", complaints_);
        read(section);
        section.finish();
    }

    void finish() {
        for (auto&& [key, node] : table_) {
            if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
            const auto begin = key.source().begin;
            complaints_.add(begin.line > 0 ? begin : node.source().begin,
                            "unknown key " + quoted(key.str()) + " in " + what_);
        }
    }

private:
    std::optional<std::int64_t> whole_of(const toml::node& node, std::string_view key,
                                         std::int64_t least, std::int64_t most) {
        const auto given = node.value_exact<std::int64_t>();
        if (given && *given >= least && *given <= most) return given;
        std::string wanted = "a whole number";
        if (most != whole_max) {
            wanted += ", " + std::to_string(least) + " to " + std::to_string(most);
        } else {
            wanted += " from " + std::to_string(least) + " on";
        }
        complain(node, quoted(key) + " must be " + wanted);
        return std::nullopt;
    }

    const toml::table& table_;
    std::string what_;
    Complaints& complaints_;
    std::vector<std::string> known_;
};

constexpr std::array<std::string_view, 2> sides = {"A", "B"};
constexpr std::array<std::string_view, 3> directions = {"A->B", "B->A", "both"};

void read_link(Section& section, LinkFigures& link) {
    section.time("latency_ns", link.latency);
    section.number("bytes_per_second", link.bytes_per_second, 0, 1'000'000'000'000);
}

void read_engine(Section& section, pcie::Config& config) {
    section.time("ack_latency_ns", config.ack_latency);
    section.number("ack_after", config.ack_after, 0, 2047);
    section.time("replay_after_ns", config.replay_after, 1);
    section.time("retrain_ns", config.retrain_time);
    section.time("renak_after_ns", config.renak_after);
    section.time("update_every_ns", config.update_every, 1);
    section.number("first_number", config.first_number, 0, 4095);
    section.number("outstanding", config.outstanding, 1, 2047);
    section.number("payload_max", config.payload_max, 1, 4096);
    pcie::Credits& posted = config.credits[static_cast<std::size_t>(pcie::FlowType::posted)];
    section.number("header_credits", posted.headers, 0, 127);
    section.number("data_credits", posted.data, 0, 2047);
}

void read_engine(Section& section, hippi::Config& config) {
    constexpr std::array<std::string_view, 3> rules = {"status_null", "literal", "re_arm"};
    if (const auto rule = section.word("duplicates", rules)) {
        config.duplicates = static_cast<hippi::Duplicates>(*rule);
    }
    section.number("w_max", config.w_max, 1, 254);
    section.truth("rseq_any_good", config.rseq_any_good);
    section.truth("guard", config.guard);
    section.time("null_after_ns", config.null_after);
    section.time("retry_after_ns", config.retry_after, 1);
    section.time("loop_ns", config.loop);
    section.number("retries_max", config.retries_max, 1, 1'000'000);
    section.number("first_number", config.first_number, 0, 254);
    section.number("buffers", config.buffers[0], 1, 60'000);
}

void read_engine(Section& section, am::Config& config) {
    constexpr std::array<std::string_view, 2> layouts = {"sp2", "ethernet"};
    if (const auto layout = section.word("preset", layouts)) {
        config = Scenario::am_engine(static_cast<am::Layout>(*layout));
    }
    constexpr std::array<std::string_view, 2> recoveries = {"go_back_n", "selective"};
    if (const auto recovery = section.word("recovery", recoveries)) {
        config.recovery = static_cast<am::Recovery>(*recovery);
        config.held_packets = std::max(config.held_packets, config.window[0]);
    }
    section.whole("window", 1, 1'000'000, [&](std::int64_t window) {
        config.window = {static_cast<std::uint32_t>(window), static_cast<std::uint32_t>(window)};
    });
    section.number("chunk_packets", config.chunk_packets, 1, 1'000);
    section.number("chunks_in_flight", config.chunks_in_flight, 1, 512);
    section.whole("first_number", 0, 0xFFFF, [&](std::int64_t first) {
        config.first_number = {static_cast<std::uint32_t>(first),
                               static_cast<std::uint32_t>(first)};
    });
    section.time("keepalive_after_ns", config.keepalive_after, 1);
    section.time("keepalive_max_ns", config.keepalive_max, 1);
    section.number("keepalive_limit", config.keepalive_limit, 1, 1'000);
    bool hello = false;
    section.truth("hello", hello);
    if (hello) config.cookie.reset();
}

void read_traffic(Section& section, Scenario& scenario) {
    Traffic traffic;
    section.time("at_ns", traffic.at);
    section.time("every_ns", traffic.every);
    if (const auto side = section.word("from", sides)) {
        traffic.from = static_cast<Side>(*side);
    } else if (section.take("from") == nullptr) {
        section.miss("from");
    }
    section.number("messages", traffic.messages, 1, 10'000);
    if (scenario.protocol() == Protocol::sp_am) {
        constexpr std::array<std::string_view, 3> whats = {"request", "store", "get"};
        if (const auto what = section.word("what", whats)) {
            traffic.what = static_cast<Traffic::What>(*what);
        }
        section.truth("reply", traffic.reply);
        if (traffic.what == Traffic::What::request) traffic.bytes = 4;
    }
    section.number("bytes", traffic.bytes, 0,
                   static_cast<std::int64_t>(scenario.bytes_max(traffic.what)));
    const toml::node* bytes = section.take("bytes");
    const bool words = scenario.protocol() == Protocol::sp_am;
    if (bytes != nullptr && words && traffic.what == Traffic::What::request &&
        traffic.bytes % 4 != 0) {
        section.complain(*bytes, "\"bytes\" of a request must be whole words of 4");
    }
    scenario.traffic.push_back(traffic);
}

void read_fate(Section& section, Fate& fate) {
    constexpr std::array<std::string_view, 4> fates = {"lost", "damaged", "duplicated", "held"};
    std::uint32_t behind = 1;
    section.number("behind", behind, 1, 1'000);
    const auto given = section.word("fate", fates);
    fate.lost = !given || *given == 0;
    fate.damaged = given && *given == 1;
    fate.duplicated = given && *given == 2;
    if (given && *given == 3) fate.held_behind = behind;
    if (const toml::node* node = section.take("behind"); node != nullptr && fate.held_behind == 0) {
        section.complain(*node, "\"behind\" is for the fate \"held\"");
    }
}

void read_fault(Section& section, Scenario& scenario) {
    ScenarioFault fault;
    constexpr std::array<std::string_view, 2> ways = {"A->B", "B->A"};
    if (const auto way = section.word("direction", ways)) {
        fault.from = static_cast<Side>(*way);
    } else if (section.take("direction") == nullptr) {
        section.miss("direction");
    }
    const auto kinds = frame_kinds(scenario.protocol());
    if (const auto kind = section.word("kind", kinds)) fault.rule.kind = kinds[*kind];
    section.whole("channel", 0, 3, [&](std::int64_t channel) {
        fault.rule.channel = static_cast<std::uint32_t>(channel);
    });
    constexpr auto number_max = std::int64_t{std::numeric_limits<std::uint32_t>::max()};
    if (const toml::node* node = section.take("number")) {
        if (const auto range = section.range(*node, "number", 0, number_max)) {
            fault.rule.number_first = static_cast<std::uint32_t>(range->first);
            fault.rule.number_last = static_cast<std::uint32_t>(range->second);
        }
    }
    fault.rule.nth_last = 1;
    if (const toml::node* node = section.take("nth")) {
        if (node->value_exact<std::string_view>() == "all") {
            fault.rule.nth_last = std::numeric_limits<std::uint64_t>::max();
        } else if (const auto range = section.range(*node, "nth", 1, whole_max)) {
            fault.rule.nth_first = range->first;
            fault.rule.nth_last = range->second;
            if (range->first > range->second) {
                section.complain(*node, "\"nth\" must name the earlier frame first");
            }
        }
    }
    read_fate(section, fault.rule.fate);
    scenario.faults.push_back(std::move(fault));
}

void read_random(Section& section, Scenario& scenario) {
    Noise noise;
    section.probability("loss", noise.rates.loss);
    section.probability("ber", noise.rates.bit_error);
    section.probability("duplicate", noise.rates.duplicate);
    section.probability("reorder", noise.rates.reorder);
    section.number("behind_max", noise.rates.hold_max, 1, 1'000);
    section.probability("burst_begin", noise.bursts.begin);
    section.probability("burst_end", noise.bursts.end);
    section.probability("burst_loss", noise.bursts.loss_in_burst);
    const std::size_t way = section.word("direction", directions).value_or(2);
    for (std::size_t i = 0; i < scenario.noise.size(); ++i) {
        if (way == 2 || way == i) scenario.noise[i] = noise;
    }
}

void read_stop(Section& section, StopAt& stop) {
    section.time("until_ns", stop.until, 1);
    section.number("frames", stop.frames, 1, 100'000);
}

// Some tables need what others say: the engine's timers follow from the link, a fault's kinds and
// a message's length from the protocol.
void read_all(Section& root, Scenario& scenario, Complaints& complaints) {
    root.text("name", scenario.name, 60);
    root.text("title", scenario.title, 400);
    root.number("seed", scenario.seed, 0, whole_max);
    root.truth("show_start", scenario.show_start);
    const auto protocol = root.word("protocol", protocol_names);
    if (!protocol) {
        if (root.take("protocol") == nullptr) root.miss("protocol");
        for (const char* key : {"link", "engine", "traffic", "fault", "random", "stop"}) {
            root.take(key);
        }
        root.finish();
        return;
    }
    const auto chosen = static_cast<Protocol>(*protocol);
    scenario.link = LinkFigures::of(chosen);
    root.table("link", [&](Section& section) { read_link(section, scenario.link); });
    scenario.engine = Scenario::engine_for(chosen, scenario.link);
    toml::source_position engine_at = root.at();
    root.table("engine", [&](Section& section) {
        engine_at = section.at();
        std::visit([&](auto& config) { read_engine(section, config); }, scenario.engine);
    });
    if (const auto works = scenario.check_engine(); !works) {
        complaints.add(engine_at, works.error().message);
        return;  // what a message may be depends on it
    }
    root.tables("traffic", [&](Section& section) { read_traffic(section, scenario); });
    if (root.take("traffic") == nullptr) root.miss("traffic");
    root.tables("fault", [&](Section& section) { read_fault(section, scenario); });
    root.tables("random", [&](Section& section) { read_random(section, scenario); });
    root.table("stop", [&](Section& section) { read_stop(section, scenario.stop); });
    root.finish();
}

std::string stem(std::string_view file) {
    file = file.substr(file.rfind('/') + 1);
    file = file.substr(0, file.rfind('.'));
    return is_plain(file) && !file.empty() && file.size() <= 60 ? std::string(file) : "scenario";
}

/// Nothing: the parser gave up.
std::optional<toml::parse_result> parsed(std::string_view text) {
    try {
        return toml::parse(text);
    } catch (const BrokenAssertion&) {
        return std::nullopt;
    }
}

// The end of the shortest beginning with which the parser gives up.
toml::source_position breaking_point(std::string_view text) {
    std::size_t fine = 0;
    std::size_t broken = text.size();
    while (fine + 1 < broken) {
        const std::size_t middle = fine + (broken - fine) / 2;
        (parsed(text.substr(0, middle)) ? fine : broken) = middle;
    }
    toml::source_position at{1, 1};
    for (const char c : text.substr(0, fine)) {
        at.line += c == '\n' ? 1 : 0;
        at.column = c == '\n' ? 1 : at.column + 1;
    }
    return at;
}

}  // namespace

Expected<Scenario> read_scenario(std::string_view text, std::string_view file) {
    Complaints complaints;
    const auto parsed_text = parsed(text);
    if (!parsed_text) {
        complaints.add(breaking_point(text), "this is no TOML");
        return complaints.in(file);
    }
    const toml::parse_result& result = *parsed_text;
    if (!result) {
        complaints.add(result.error().source().begin, std::string(result.error().description()));
        return complaints.in(file);
    }
    Scenario scenario;
    scenario.name = stem(file);
    Section root(result.table(), "the file", complaints);
    read_all(root, scenario, complaints);
    if (!complaints.none()) return complaints.in(file);
    return scenario;
}

}  // namespace wireproof::lab
