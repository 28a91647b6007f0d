// The tests of the SP AM rules use the configurations of config_test_kit.hpp. This test checks that
// an Endpoint opens with the same configurations. Only the values that belong to a session may
// differ.
#include <gtest/gtest.h>

#include <tuple>

#include "wireproof/front/am/options.hpp"
#include "wireproof/proto/am/config_test_kit.hpp"

namespace wireproof::am {
namespace {

/// All values of a configuration except first numbers, cookie and seed. These belong to a session.
auto figures_of(Config config) {
    config.first_number = {};
    return std::tuple(
        config.terms(), config.congestion, config.message_max, config.reply_places,
        config.save_bytes, config.held_packets,
        std::tuple(config.keepalive_after, config.probe_after, config.ack_after,
                   config.keepalive_max, config.keepalive_limit, config.peer_timeout),
        std::tuple(config.resend_limit, config.first_flight, config.fast_paths, config.poll_every,
                   config.coalesce, config.coalesce_for, config.fifo_entries, config.lazy_pop));
}

Config of_an_endpoint(std::vector<std::string> peers) {
    Options options;
    options.peers = std::move(peers);
    const auto read = read_options(options);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read ? read->config : Config();
}

TEST(AmConfigurations, TheRulesAreTestedInThoseThatUsersHave) {
    EXPECT_EQ(figures_of(of_an_endpoint({"127.0.0.1:7001", "127.0.0.1:7002"})),
              figures_of(test::udp()));
    EXPECT_EQ(figures_of(of_an_endpoint({"shm:rules", "shm:rules"})),
              figures_of(test::shared_memory()));
}

}  // namespace
}  // namespace wireproof::am
