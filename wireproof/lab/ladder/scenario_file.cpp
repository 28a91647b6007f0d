#include "wireproof/lab/ladder/scenario_file.hpp"

#include <initializer_list>

#include "wireproof/base/toml_text.hpp"

namespace wireproof::lab {
namespace {

using namespace toml_text;

constexpr std::array<std::string_view, 2> sides = {"A", "B"};
constexpr std::array<std::string_view, 3> directions = {"A->B", "B->A", "both"};

void read_link(Section& section, LinkFigures& link) {
    section.time("latency_ns", link.latency);
    section.number("bytes_per_second", link.bytes_per_second, 0, 1'000'000'000'000);
    constexpr std::uint64_t slowest = 1'000;
    const toml::node* rate = section.take("bytes_per_second");
    if (rate != nullptr && link.bytes_per_second > 0 && link.bytes_per_second < slowest) {
        section.complain(*rate, "\"bytes_per_second\" must be 0, or at least 1000");
    }
}

/// The keys of a link engine.
class SectionKeys final : public EngineKeys {
public:
    explicit SectionKeys(Section& section) : section_(section) {}

    void time(std::string_view key, Duration& value, std::int64_t least) override {
        section_.time(key, value, least);
    }
    void truth(std::string_view key, bool& value) override { section_.truth(key, value); }
    std::optional<std::size_t> word(std::string_view key,
                                    std::span<const std::string_view> words) override {
        return section_.word(key, words);
    }
    std::optional<std::int64_t> whole(std::string_view key, std::int64_t least,
                                      std::int64_t most) override {
        std::optional<std::int64_t> value;
        section_.whole(key, least, most, [&value](std::int64_t given) { value = given; });
        return value;
    }

private:
    Section& section_;
};

void read_engine(Section& section, am::Config& config) {
    constexpr std::array<std::string_view, 2> layouts = {"sp2", "ethernet"};
    if (const auto layout = section.word("preset", layouts)) {
        config = Scenario::am_engine(static_cast<am::Layout>(*layout));
    }
    constexpr std::array<std::string_view, 2> recovery_names = {"go_back_n", "selective"};
    if (const auto recovery = section.word("recovery", recovery_names)) {
        config.recovery = static_cast<am::Recovery>(*recovery);
        config.held_packets = std::max(config.held_packets, config.window[0]);
    }
    section.whole("window", 1, 1'000'000, [&](std::int64_t window) {
        config.window = {static_cast<std::uint32_t>(window), static_cast<std::uint32_t>(window)};
    });
    section.number("chunk_packets", config.chunk_packets, 1, 1'000);
    section.number("chunks_in_flight", config.chunks_in_flight, 1, 512);
    section.number("modulus", config.modulus, 2, 0x10000);
    const auto last = static_cast<std::int64_t>(std::min<std::uint64_t>(config.modulus, 0x10000));
    section.whole("first_number", 0, last - 1, [&](std::int64_t first) {
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

void read_engine(Section& section, Scenario& scenario) {
    if (!is_link(scenario.protocol())) {
        return read_engine(section, std::get<am::Config>(scenario.engine));
    }
    visit_adapter(scenario.protocol(), [&]<class Adapter>() {
        SectionKeys keys(section);
        Adapter::read(keys, std::get<typename Adapter::Config>(scenario.engine));
    });
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
    section.number("intact", fate.intact_front, 1, 1'000'000);
    const auto given = section.word("fate", fates);
    fate.lost = !given || *given == 0;
    fate.damaged = given && *given == 1;
    fate.duplicated = given && *given == 2;
    if (given && *given == 3) fate.held_behind = behind;
    if (const toml::node* node = section.take("behind"); node != nullptr && fate.held_behind == 0) {
        section.complain(*node, "\"behind\" is for the fate \"held\"");
    }
    if (const toml::node* node = section.take("intact"); node != nullptr && !fate.damaged) {
        section.complain(*node, "\"intact\" is for the fate \"damaged\"");
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

// Some tables depend on others: the engine's timers on the link, the kinds of a fault and the
// length of a message on the protocol.
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
    scenario.link = figures_of(chosen);
    root.table("link", [&](Section& section) { read_link(section, scenario.link); });
    scenario.engine = Scenario::engine_for(chosen, scenario.link);
    toml::source_position engine_at = root.at();
    root.table("engine", [&](Section& section) {
        engine_at = section.at();
        read_engine(section, scenario);
        section.truth("any_window", scenario.any_window);
    });
    if (const auto works = scenario.check_engine(); !works) {
        complaints.add(engine_at, works.error().message);
        return;  // the limits of a message depend on it
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

}  // namespace

Expected<Scenario> read_scenario(std::string_view text, std::string_view file) {
    Complaints complaints;
    Scenario scenario;
    scenario.name = stem(file);
    const auto read = [&](Section& root) { read_all(root, scenario, complaints); };
    if (!read_toml(text, complaints, read)) return complaints.in(file);
    return scenario;
}

}  // namespace wireproof::lab
