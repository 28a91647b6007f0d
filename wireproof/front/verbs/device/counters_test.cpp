#include "wireproof/front/verbs/device/counters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <thread>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"
#include "wireproof/host/counters/counter_reader.hpp"

namespace wireproof::verbs::test {
namespace {

/// The counters as another process reads them: "device.…", then the names that are published, and
/// "queue_pairs.NUMBER.…".
std::map<std::string, std::string> shown() {
    std::map<std::string, std::string> values;
    for (const host::PublishedSection& section : host::read_counters(::getpid()).sections) {
        EXPECT_EQ(section.source, host::CounterSource::verbs_device);
        for (const auto& [key, value] : section.details) values["device." + key] = value;
        for (std::size_t i = 0; i < section.totals.size(); ++i) {
            values[section.totals[i].name] = std::to_string(section.values[i]);
        }
        for (const host::PublishedRow& row : section.rows) {
            const std::string name = "queue_pairs." + row.name + ".";
            for (const auto& [key, value] : row.details) values[name + key] = value;
            for (std::size_t i = 0; i < row.values.size(); ++i) {
                values[name + section.row_counters[i].name] = std::to_string(row.values[i]);
            }
        }
    }
    return values;
}

std::uint64_t number(const std::map<std::string, std::string>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? 0 : std::stoull(found->second);
}

/// Waits for the keeper to publish the newest values.
template <class Holds>
std::map<std::string, std::string> shown_once(Holds&& holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
        auto values = shown();
        if (holds(values)) return values;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return shown();
}

TEST(VerbsCounters, ADeviceIsShownAsSoonAsItIsOpen) {
    ibv_context* const context = open_device();
    const auto values = shown();
    EXPECT_EQ(values.at("device.name"), "wireproof0");
    EXPECT_EQ(values.at("device.queue_pairs"), "0");
    EXPECT_EQ(values.at("device.address").substr(0, 4), "127.");
    EXPECT_EQ(ibv_close_device(context), 0);
    EXPECT_TRUE(shown().empty());
}

// The program makes no call after its last completion. The keeper publishes the values.
TEST(VerbsCounters, TellWhatAQueuePairDidAndOutliveIt) {
    End stays;
    std::string name;
    {
        End a;
        a.connect(stays.contact(), never_again);
        stays.connect(a.contact(), never_again);
        for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.piece(0, 1024), stays.contact()), 0);
            ASSERT_EQ(a.wait().status, IBV_WC_SUCCESS);
        }
        name = "queue_pairs." + std::to_string(a.pair->qp_num) + ".";
        const auto values =
            shown_once([&](const auto& all) { return number(all, name + "answers") == 3; });
        EXPECT_EQ(number(values, name + "sent"), 3U);
        EXPECT_EQ(number(values, name + "timeouts"), 0U);
        EXPECT_EQ(values.at(name + "transport"), "RC");
        EXPECT_EQ(values.at(name + "state"), "RTS");
        EXPECT_EQ(values.at(name + "congestion_control"), "off");  // on loopback
        EXPECT_EQ(values.at(name + "peer"), values.at("device.address"));
        EXPECT_EQ(number(values, name + "peer_queue_pair"), stays.pair->qp_num);
        EXPECT_EQ(number(values, "counters.port_xmit_packets"), 6U);
        EXPECT_GE(number(values, "counters.port_rcv_data"), 3 * 1024 / 4U);
        for (const char* none : {"duplicate_request", "np_cnp_sent", "np_ecn_marked_roce_packets",
                                 "rp_cnp_handled", "rp_cnp_ignored"}) {
            EXPECT_EQ(values.at("hw_counters." + std::string(none)), "0") << none;
        }
    }
    End other;
    other.connect(stays.contact());
    ASSERT_EQ(other.post(IBV_WR_RDMA_WRITE, 1, other.piece(0, 8), {}), 0);
    const auto values = shown_once([&](const auto& all) { return !all.contains(name + "sent"); });
    EXPECT_FALSE(values.contains(name + "sent"));
    EXPECT_GE(number(values, "hw_counters.sent_pkts"), 6U);
}

}  // namespace
}  // namespace wireproof::verbs::test
