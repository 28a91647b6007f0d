// The list of link engines, and an engine on a line from which no frame vanishes.
#include "wireproof/lab/engines/link_engines.hpp"

#include <gtest/gtest.h>

#include <set>

#include "wireproof/lab/ladder/ladder_run.hpp"
#include "wireproof/lab/ladder/scenario_file.hpp"
#include "wireproof/lab/link_retry/retry_point.hpp"
#include "wireproof/lab/search/search_link_run.hpp"
#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::lab {
namespace {

TEST(LinkEngines, EachNameIsOfOneProtocol) {
    const std::set<std::string_view> protocols(protocol_names.begin(), protocol_names.end());
    EXPECT_EQ(protocols.size(), protocol_names.size());
    const std::set<std::string_view> sweeps(retry_protocol_names.begin(),
                                            retry_protocol_names.end());
    EXPECT_EQ(sweeps.size(), retry_protocol_names.size());
}

TEST(LinkEngines, EachSweepLeadsToItsAdapter) {
    for (const LinkSweep& one : link_sweeps) {
        const auto protocol = retry_protocol(one.name);
        ASSERT_TRUE(protocol) << one.name;
        EXPECT_EQ(link_sweep_of(*protocol), &one);
        LinkEngines::visit(
            one.engine, [&]<class Adapter>() { EXPECT_EQ(Adapter::sweeps[one.sweep], one.name); });
    }
    EXPECT_EQ(link_sweep_of(RetryProtocol::sp_am), nullptr);
    EXPECT_EQ(link_sweep_of(RetryProtocol::ideal), nullptr);
}

TEST(LinkEngines, TheDefaultsOfEachEngineCanWork) {
    for (const std::string_view name : protocol_names) {
        const Protocol protocol = *protocol_of(name);
        Scenario scenario;
        scenario.engine = Scenario::engine_for(protocol, figures_of(protocol));
        EXPECT_EQ(scenario.protocol(), protocol);
        EXPECT_TRUE(scenario.check_engine()) << name;
        if (!is_link(protocol)) continue;
        scenario.engine = search_engine(protocol, 2, smallest_modulus(protocol, 2), 0);
        EXPECT_TRUE(scenario.check_engine()) << name;
        EXPECT_GE(scenario.bytes_max(Traffic::What::request), search_message(protocol)) << name;
    }
}

/// PCI Express on a line from which no frame vanishes.
struct Lossless : PcieAdapter {
    static constexpr bool may_lose = false;
};

TEST(LosslessLine, AFaultThatLosesAFrameDamagesIt) {
    const auto scenario = read_scenario(R"(
protocol = "pcie"
[[traffic]]
from = "A"
messages = 3
[[fault]]
direction = "A->B"
kind = "TLP"
fate = "lost"
)",
                                        "mine");
    ASSERT_TRUE(scenario) << scenario.error().message;
    const auto lost = [](const auto& ladder) {
        std::size_t count = 0;
        std::size_t damaged = 0;
        for (const LadderFrame& frame : ladder->frames) {
            count += frame.fate.lost ? 1 : 0;
            damaged += frame.fate.damaged ? 1 : 0;
        }
        return std::pair(count, damaged);
    };
    EXPECT_EQ(lost(run_scenario(*scenario)), std::pair(std::size_t{1}, std::size_t{0}));
    EXPECT_EQ(lost(LadderRun<LinkLadderUser<Lossless>>(*scenario).run()),
              std::pair(std::size_t{0}, std::size_t{1}));
}

TEST(LosslessLine, ASearchDamagesWhatItWouldLose) {
    const pcie::Config config = PcieAdapter::search_config(1, 4);
    const SearchSetting only_loss{.faults = 1, .damage = false, .early_timers = false};
    LinkSearch<Lossless> lossless(config, {.messages = 2}, only_loss);
    PcieSearch damaging(config, {.messages = 2},
                        {.faults = 1, .lose = false, .early_timers = false});
    PcieSearch losing(config, {.messages = 2}, only_loss);
    const SearchResult result = lossless.run();
    EXPECT_EQ(result.states, damaging.run().states);
    EXPECT_NE(result.states, losing.run().states);
}

}  // namespace
}  // namespace wireproof::lab
