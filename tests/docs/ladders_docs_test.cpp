// The defaults that docs/guide/links/ladders.md states are the defaults of an empty scenario.
#include "tests/docs/document.hpp"

#include "wireproof/lab/ladder/scenario_file.hpp"

namespace wireproof::lab {
namespace {

const docs::Document& ladders_page() {
    static const docs::Document document("guide/links/ladders.md");
    return document;
}

Scenario plain(Protocol protocol, const std::string& engine = "") {
    const auto scenario =
        read_scenario("protocol = \"" + std::string(name_of(protocol)) + "\"\n[engine]\n" + engine +
                          "\n[[traffic]]\nfrom = \"A\"\n",
                      "plain.toml");
    EXPECT_TRUE(scenario) << scenario.error().message;
    return scenario.value();
}

template <class Config>
Config engine(Protocol protocol, const std::string& text = "") {
    return std::get<Config>(plain(protocol, text).engine);
}

double nanoseconds(Duration duration) {
    return static_cast<double>(duration.nanoseconds());
}

void expect_row(const std::string& key, const std::string& cells,
                const std::vector<double>& computed) {
    ladders_page().expect_figures("\\| `" + key + "` \\| " + cells + " \\|", computed);
}

TEST(LaddersPage, HasTheDefaultsOfTheLinks) {
    const LinkFigures pcie = plain(Protocol::pcie).link;
    const LinkFigures hippi = plain(Protocol::hippi6400).link;
    const LinkFigures am = plain(Protocol::sp_am).link;
    expect_row("latency_ns", "(\\d+) \\| (\\d+) \\| (\\d+ \\d+)",
               {nanoseconds(pcie.latency), nanoseconds(hippi.latency), nanoseconds(am.latency)});
    ladders_page().groups("\\| `bytes_per_second` \\| 10⁹ \\| 10⁹ \\| 4 · 10⁷ \\|");
    EXPECT_EQ(pcie.bytes_per_second, 1'000'000'000U);
    EXPECT_EQ(hippi.bytes_per_second, 1'000'000'000U);
    EXPECT_EQ(am.bytes_per_second, 40'000'000U);
}

TEST(LaddersPage, HasTheDefaultsOfEveryEngine) {
    const auto pcie = engine<pcie::Config>(Protocol::pcie);
    const auto hippi = engine<hippi::Config>(Protocol::hippi6400);
    const auto flit = engine<flit::Config>(*protocol_of("flit"));
    const auto am = engine<am::Config>(Protocol::sp_am);
    expect_row("modulus", "pcie (\\d+), hippi6400 (\\d+), flit (\\d+), sp-am (\\d+ \\d+)",
               {static_cast<double>(pcie.modulus), static_cast<double>(hippi.modulus),
                static_cast<double>(flit.modulus), static_cast<double>(am.modulus)});
}

TEST(LaddersPage, HasTheDefaultsOfFlits) {
    const auto plain = engine<flit::Config>(*protocol_of("flit"));
    const auto selective = engine<flit::Config>(*protocol_of("flit"), "selective = true");
    const auto ucie = engine<flit::Config>(*protocol_of("flit"), "format = \"ucie_68\"");
    const auto expect_both = [](const char* key, double one, double other) {
        expect_row(key, "(\\d+); (\\d+)", {one, other});
    };
    expect_both("outstanding", plain.outstanding, ucie.outstanding);
    expect_both("explicit_after_jump", plain.explicit_after_jump, selective.explicit_after_jump);
    expect_both("timeout_flits", plain.timeout_flits, ucie.timeout_flits);
    expect_both("trailing_nops", plain.trailing_nops, ucie.trailing_nops);
    expect_row("store_flits", "(\\d+)", {static_cast<double>(plain.store_flits)});
    ladders_page().expect_figures(
        "\\| `modulus`, `first_number` \\| (\\d+), (\\d+); (\\d+), (\\d+) \\|",
        {static_cast<double>(plain.modulus), static_cast<double>(plain.first_number),
         static_cast<double>(ucie.modulus), static_cast<double>(ucie.first_number)});
    ladders_page().expect_figures(
        "\\| `explicit_run`, `nak_run` \\| (\\d+), (\\d+); (\\d+), (\\d+) \\|",
        {static_cast<double>(plain.explicit_run), static_cast<double>(plain.nak_run),
         static_cast<double>(ucie.explicit_run), static_cast<double>(ucie.nak_run)});
    ladders_page().expect_figures(
        "\\| `replay_num_limit`, `retrain_ns` \\| (\\d+), (\\d+) \\|",
        {static_cast<double>(plain.replay_num_limit), nanoseconds(plain.retrain_time)});
    EXPECT_TRUE(plain.withdraws);
    EXPECT_FALSE(ucie.withdraws);
    // The loop and 5 flits: there and back, 200 ns and a flit of 256 ns each.
    EXPECT_EQ(plain.nak_ignore, 4U + 5U);
}

TEST(LaddersPage, HasTheDefaultsOfPcie) {
    const auto config = engine<pcie::Config>(Protocol::pcie);
    expect_row("ack_latency_ns", "(\\d+)", {nanoseconds(config.ack_latency)});
    expect_row("ack_after", "(\\d+)", {static_cast<double>(config.ack_after)});
    expect_row("replay_after_ns", "(\\d+)", {nanoseconds(config.replay_after)});
    expect_row("retrain_ns", "(\\d+ \\d+)", {nanoseconds(config.retrain_time)});
    expect_row("renak_after_ns", "(\\d+)", {nanoseconds(config.renak_after)});
    expect_row("outstanding", "(\\d+)", {static_cast<double>(config.outstanding)});
    expect_row("payload_max", "(\\d+)", {static_cast<double>(config.payload_max)});
    expect_row("update_every_ns", "(\\d+ \\d+)", {nanoseconds(config.update_every)});
    ladders_page().groups("\\| `header_credits`, `data_credits` \\| 0 \\|");
    const auto posted = config.credits[static_cast<std::size_t>(pcie::FlowType::posted)];
    EXPECT_EQ(posted.headers, 0U);
    EXPECT_EQ(posted.data, 0U);
    EXPECT_EQ(config.first_number, 0U);
}

TEST(LaddersPage, HasTheDefaultsOfHippi) {
    const Scenario scenario = plain(Protocol::hippi6400);
    const auto config = std::get<hippi::Config>(scenario.engine);
    expect_row("w_max", "(\\d+)", {static_cast<double>(config.w_max)});
    expect_row("retries_max", "(\\d+)", {static_cast<double>(config.retries_max)});
    expect_row("buffers", "(\\d+)", {static_cast<double>(config.buffers[0])});
    const Duration unit = scenario.link.time_of(hippi::unit_size);
    expect_row("null_after_ns", "(\\d+) units",
               {nanoseconds(config.null_after) / nanoseconds(unit)});
    expect_row("retry_after_ns", "(\\d+) loops",
               {nanoseconds(config.retry_after) / nanoseconds(config.loop)});
    ladders_page().groups("\\| `guard` \\| true \\|");
    ladders_page().groups("\\| `rseq_any_good` \\| false \\|");
    ladders_page().groups("\\| `duplicates` \\| `\"status_null\"` \\|");
    EXPECT_TRUE(config.guard);
    EXPECT_FALSE(config.rseq_any_good);
    EXPECT_EQ(config.duplicates, hippi::Duplicates::status_null);
}

TEST(LaddersPage, HasTheDefaultsOfUltraEthernet) {
    const auto protocol = *protocol_of("ue-llr");
    const auto config = engine<ue::Config>(protocol);
    const LinkFigures pcie = plain(Protocol::pcie).link;
    EXPECT_EQ(plain(protocol).link.latency, pcie.latency);
    EXPECT_EQ(plain(protocol).link.bytes_per_second, pcie.bytes_per_second);
    expect_row("outstanding_seq_max`, `outstanding_data_max", "(\\d+), (\\d+)",
               {static_cast<double>(config.outstanding_seq_max),
                static_cast<double>(config.outstanding_data_max)});
    expect_row("replay_timer_max_ns", "(\\d+)", {nanoseconds(config.replay_timer_max)});
    expect_row("replay_ct_max", "(\\d+)", {static_cast<double>(config.replay_ct_max)});
    expect_row("data_age_timer_max_ns", "(\\d+ \\d+)", {nanoseconds(config.data_age_timer_max)});
    expect_row("ctl_spacing`, `ack_spacing", "(\\d+), (\\d+)",
               {static_cast<double>(config.ctl_spacing), static_cast<double>(config.ack_spacing)});
    expect_row("init_every_ns`, `ack_idle_ns", "(\\d+), (\\d+)",
               {nanoseconds(config.init_every), nanoseconds(config.ack_idle)});
    expect_row("first_number`, `payload_max", "(\\d+), (\\d+)",
               {static_cast<double>(config.first_number), static_cast<double>(config.payload_max)});
    ladders_page().expect_figures("`modulus` is 2 to 1 048 576, (\\d+ \\d+ \\d+) by default",
                                  {static_cast<double>(config.modulus)});
    EXPECT_TRUE(config.re_init_on_flush && config.restarts_both_ways && !config.nack_counts);
}

TEST(LaddersPage, HasTheDefaultsOfSpAm) {
    const auto sp2 = engine<am::Config>(Protocol::sp_am);
    const auto ethernet = engine<am::Config>(Protocol::sp_am, "preset = \"ethernet\"");
    ladders_page().expect_figures(
        "`\"sp2\"` \\| packets of (\\d+) bytes, go-back-N; `\"ethernet\"`: of (\\d+),",
        {static_cast<double>(sp2.packet_max), static_cast<double>(ethernet.packet_max)});
    EXPECT_EQ(sp2.recovery, am::Recovery::go_back_n);
    EXPECT_EQ(ethernet.recovery, am::Recovery::selective);
    expect_row("window", "(\\d+) and (\\d+); (\\d+)",
               {static_cast<double>(sp2.window[0]), static_cast<double>(sp2.window[1]),
                static_cast<double>(ethernet.window[0])});
    ladders_page().expect_figures(
        "\\| `chunk_packets`, `chunks_in_flight` \\| (\\d+), (\\d+); (\\d+), by the path",
        {static_cast<double>(sp2.chunk_packets), static_cast<double>(sp2.chunks_in_flight),
         static_cast<double>(ethernet.chunk_packets)});
    ladders_page().expect_figures(
        "\\| `keepalive_after_ns`, `keepalive_max_ns` \\| ([\\d.]+) and (\\d+) ms; (\\d+) and "
        "(\\d+) "
        "ms \\|",
        {sp2.keepalive_after.seconds() * 1e3, sp2.keepalive_max.seconds() * 1e3,
         ethernet.keepalive_after.seconds() * 1e3, ethernet.keepalive_max.seconds() * 1e3});
    expect_row(
        "keepalive_limit", "(\\d+); (\\d+)",
        {static_cast<double>(sp2.keepalive_limit), static_cast<double>(ethernet.keepalive_limit)});
}

TEST(LaddersPage, HasTheDefaultsOfTrafficAndOfTheEnd) {
    const Scenario scenario = plain(Protocol::pcie);
    const Traffic& traffic = scenario.traffic.at(0);
    ladders_page().groups("\\| `at_ns`, `every_ns` \\| 0, 0 \\|");
    EXPECT_EQ(traffic.at, Duration());
    EXPECT_EQ(traffic.every, Duration());
    expect_row("messages", "(\\d+)", {static_cast<double>(traffic.messages)});
    expect_row("bytes", "(\\d+); a request: (\\d+)",
               {static_cast<double>(traffic.bytes),
                static_cast<double>(plain(Protocol::sp_am).traffic.at(0).bytes)});
    expect_row("seed", "(\\d+)", {static_cast<double>(scenario.seed)});
    expect_row("frames", "(\\d+)", {static_cast<double>(scenario.stop.frames)});
    ladders_page().groups("\\| `until_ns` \\| 10⁹ \\|");
    EXPECT_EQ(scenario.stop.until, Duration::milliseconds(1'000));
}

}  // namespace
}  // namespace wireproof::lab
