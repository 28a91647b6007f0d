// What other processes see of a Device.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/host/counters/counter_reader.hpp"

namespace wireproof::ib::test {
namespace {

using std::chrono::milliseconds;
using wireproof::host::PublishedRow;
using wireproof::host::PublishedSection;

/// The Devices of this process that are shown, in the order in which they were opened.
std::vector<PublishedSection> shown() {
    auto read = wireproof::host::read_counters(::getpid());
    EXPECT_TRUE(read.skipped.empty());
    return read.sections;
}

std::string detail(const wireproof::host::CounterDetails& details, const std::string& key) {
    for (const auto& [name, value] : details) {
        if (name == key) return value;
    }
    return {};
}

std::uint64_t total(const PublishedSection& section, const std::string& name) {
    for (std::size_t i = 0; i < section.totals.size(); ++i) {
        if (section.totals[i].name == name) return section.values[i];
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

/// The row of a queue pair; a row without a name if there is none.
PublishedRow row_of(const PublishedSection& section, const QueuePair& pair) {
    const auto found =
        std::ranges::find(section.rows, std::to_string(pair.number()), &PublishedRow::name);
    return found != section.rows.end() ? *found : PublishedRow();
}

std::uint64_t value(const PublishedSection& section, const PublishedRow& row,
                    const std::string& name) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        if (section.row_counters[i].name == name) return row.values[i];
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

class DeviceCounters : public Devices {
protected:
    /// A device copies its counters before it sleeps.
    static void make_ready_to_sleep(Device& device) {
        for (int i = 0; i < 1000 && !device.arm(); ++i) device.poll();
    }
    /// Waits until `holds` is true of what is shown.
    template <class Holds>
    [[nodiscard]] static bool wait_until(Device& device, Holds&& holds) {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > end) return false;
            device.wait({}, milliseconds(15));
        }
        return true;
    }
};

TEST_F(DeviceCounters, TellWhatAQueuePairDid) {
    open({.ack_timeout = std::chrono::nanoseconds(0)});  // nothing is sent again
    a->put(0, "sixteen bytes...");
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_EQ(a->pair.write(id, a->region->piece(0, 16), b->remote(100)), Status::ok);
        ASSERT_EQ(next(*a).status, WorkStatus::success);
    }
    make_ready_to_sleep(a->device);
    make_ready_to_sleep(b->device);
    const auto all = shown();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].source, wireproof::host::CounterSource::ib_device);
    EXPECT_EQ(detail(all[0].details, "address"), host(1));
    EXPECT_EQ(detail(all[1].details, "path_mtu"), "512");
    EXPECT_EQ(total(all[0], "device.queue_pairs"), 1U);
    EXPECT_EQ(all[0].rows_missing, 0U);
    const PublishedRow row = row_of(all[0], a->pair);
    EXPECT_EQ(detail(row.details, "transport"), "RC");
    EXPECT_EQ(detail(row.details, "state"), "RTS");
    EXPECT_EQ(detail(row.details, "peer"), host(2));
    EXPECT_EQ(detail(row.details, "peer_queue_pair"), std::to_string(b->pair.number()));
    EXPECT_EQ(value(all[0], row, "sent"), 3U);
    EXPECT_EQ(value(all[0], row, "answers"), 3U);
    EXPECT_EQ(value(all[0], row, "resent"), 0U);
    EXPECT_EQ(value(all[0], row, "sends_posted"), 0U);
    EXPECT_EQ(value(all[1], row_of(all[1], b->pair), "executed"), 3U);
    EXPECT_EQ(total(all[0], "total.sent"), 3U);
    EXPECT_EQ(total(all[0], "wire.frames_sent"), 3U);
    EXPECT_EQ(total(all[1], "wire.frames_received"), 3U);
    EXPECT_EQ(total(all[1], "wire.icrc_wrong"), 0U);
    EXPECT_EQ(total(all[1], "port.unknown_queue_pair"), 0U);
}

// No packet moves, so only the wait itself says that something may have changed.
TEST_F(DeviceCounters, FollowQueuePairsThatComeChangeAndGo) {
    a.emplace(1, 1024, QueuePairOptions());
    b.emplace(2, 512, QueuePairOptions());
    make_ready_to_sleep(a->device);
    EXPECT_NE(detail(row_of(shown()[0], a->pair).details, "state"), "RTS");
    EXPECT_EQ(detail(row_of(shown()[0], a->pair).details, "peer"), "");
    connect();
    EXPECT_TRUE(wait_until(a->device, [this] {
        return detail(row_of(shown()[0], a->pair).details, "state") == "RTS";
    }));
    auto third = QueuePair::create(a->domain, a->completions, a->completions,
                                   {.transport = Transport::datagram});
    ASSERT_TRUE(third);
    make_ready_to_sleep(a->device);
    EXPECT_EQ(total(shown()[0], "device.queue_pairs"), 2U);
    EXPECT_EQ(detail(row_of(shown()[0], *third).details, "transport"), "UD");
    const std::size_t rows = shown()[0].rows.size();
    ASSERT_EQ(a->pair.post_receive(1, a->region->piece(0, 16)), Status::ok);
    make_ready_to_sleep(a->device);
    EXPECT_EQ(value(shown()[0], row_of(shown()[0], a->pair), "receives_posted"), 1U);
    const std::string number = std::to_string(third->number());
    third = Result<QueuePair>::failure("");
    make_ready_to_sleep(a->device);
    EXPECT_EQ(total(shown()[0], "device.queue_pairs"), 1U);
    const auto left = shown();
    ASSERT_EQ(left[0].rows.size(), rows - 1);
    for (const PublishedRow& row : left[0].rows) EXPECT_NE(row.name, number);
    EXPECT_EQ(detail(row_of(shown()[0], a->pair).details, "transport"), "RC");
}

TEST_F(DeviceCounters, AnEventLoopThatIsAboutToSleepCopiesThem) {
    open();
    ASSERT_EQ(a->pair.post_receive(1, a->region->piece(0, 16)), Status::ok);
    make_ready_to_sleep(a->device);
    EXPECT_EQ(value(shown()[0], row_of(shown()[0], a->pair), "receives_posted"), 1U);
}

TEST_F(DeviceCounters, EndWithTheDeviceAndAreNotShownIfTheOptionSaysSo) {
    open();
    EXPECT_EQ(shown().size(), 2U);
    b.reset();
    ASSERT_EQ(shown().size(), 1U);
    EXPECT_EQ(detail(shown()[0].details, "address"), host(1));
    const auto quiet = Device::open({.address = host(3), .publish_counters = false});
    ASSERT_TRUE(quiet);
    EXPECT_EQ(shown().size(), 1U);
}

TEST_F(DeviceCounters, OfAParentAreNotWrittenByItsChild) {
    open();
    make_ready_to_sleep(a->device);
    const auto updated = shown()[0].updated_ns;
    EXPECT_EQ(in_child([&] {
                  a->device.poll();
                  a->device.wait({}, milliseconds(20));
                  if (!shown().empty()) return 1;
                  const auto own = Device::open({.address = host(4)});
                  return own && shown().size() == 1 ? 42 : 2;
              }),
              42);
    EXPECT_EQ(shown()[0].updated_ns, updated);
}

}  // namespace
}  // namespace wireproof::ib::test
