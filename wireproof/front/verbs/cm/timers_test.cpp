// A process that had no processor for a while finds timers that have expired, and the answers that
// came in the meantime. Both devices are in this process. Neither is moved by anything but the
// test, until they know that they are of one host.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "wireproof/front/verbs/device/device.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"

namespace wireproof::verbs::cm_timers_test {
namespace {

namespace ib = proto::ib;

constexpr std::uint64_t service = 1;

/// A device that notes its last event of connection management.
class Side : public Device::ConnectionHearer {
public:
    explicit Side(unsigned last) : device_(open(last)) { device_->hear_connections(*this); }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() override { device_->forget_connections(*this); }

    void on_event(Instant, ib::ConnectionManagement&, const ib::CmEvent& event) override {
        told_ = event;
    }
    void on_deadline(Instant, ib::ConnectionManagement&) override {}
    void on_peer_end(Instant, PeerId) override {}
    Instant next_deadline() const override { return never; }

    template <class Use>
    auto managing(Use&& use) {
        return device_->managing(std::forward<Use>(use));
    }
    void listen(std::uint64_t to) {
        managing([&](Instant, ib::ConnectionManagement& management) {
            management.listen(to);
            return 0;
        });
    }
    void ask(Side& other, std::uint64_t of, std::size_t times = 1) {
        managing([&](Instant now, ib::ConnectionManagement& management) {
            const auto peer = device_->find_peer(other.device_->address());
            EXPECT_TRUE(peer);
            for (std::size_t i = 0; i < times; ++i) {
                EXPECT_TRUE(management.connect(now, *peer, {.service = of}));
            }
            return 0;
        });
    }
    void reject(ib::CmId id) {
        EXPECT_TRUE(managing([&](Instant now, ib::ConnectionManagement& management) {
            return management.reject(now, id, ib::CmReason::consumer);
        }));
    }
    /// Receives all that has arrived, and sends all that waits.
    void turn() {
        const auto waits = [](Instant, ib::ConnectionManagement& management) {
            return management.has_outgoing();
        };
        do {
            device_->ending(0, [](ib::Port&) { return 0; });
        } while (managing(waits));
    }
    std::optional<ib::CmEvent> told() {
        return device_->locked([&](ib::Port&) { return told_; });
    }
    ib::CmCounters counters() {
        return managing([](Instant, const ib::ConnectionManagement& management) {
            return management.counters();
        });
    }
    /// How many datagrams were sent again because no answer had come.
    std::uint64_t resent() { return counters().resent; }
    /// Until the first question is due again.
    void sleep_long() {
        const Instant late = device_->now() + ib::cm_response_time(16) + Duration::milliseconds(1);
        while (device_->now() < late) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }

private:
    static std::shared_ptr<Device> open(unsigned last) {
        Address address = wireproof::test::own_host(last);
        address.port = rocev2_port;
        auto device = Device::open({.address = address});
        WIREPROOF_CHECK(device.has_value());
        return *device;
    }

    std::shared_ptr<Device> device_;
    std::optional<ib::CmEvent> told_;
};

class VerbsCmTimers : public testing::Test {
protected:
    void SetUp() override {
        listener.listen(service);
        asker.ask(listener, service);
        listener.turn();
        ASSERT_TRUE(listener.told());
        ASSERT_EQ(listener.told()->what, ib::CmEvent::What::requested);
    }

    Side asker{1};
    Side listener{2};
};

TEST_F(VerbsCmTimers, ACallThatReceivesNothingEndsNoWait) {
    listener.reject(listener.told()->id);
    asker.sleep_long();
    EXPECT_EQ(asker.resent(), 0U);
    asker.turn();
    EXPECT_EQ(asker.resent(), 0U);
    ASSERT_TRUE(asker.told());
    EXPECT_EQ(asker.told()->what, ib::CmEvent::What::rejected);
}

// More packets than the device reads in one turn come before the answer.
TEST_F(VerbsCmTimers, ExpireAfterAllThatHasArrivedIsRead) {
    const ib::CmId asked = listener.told()->id;
    listener.ask(asker, service + 1, 270);
    listener.turn();
    listener.reject(asked);
    asker.sleep_long();
    asker.turn();
    EXPECT_EQ(asker.resent(), 0U);
    ASSERT_TRUE(asker.told());
    EXPECT_EQ(asker.told()->what, ib::CmEvent::What::rejected);
}

// They come in one turn, and are more than queue pair 1 has receives.
TEST_F(VerbsCmTimers, AreNotNeededForManyDatagramsThatComeAtOnce) {
    constexpr std::size_t many = 200;
    asker.listen(service + 1);
    listener.ask(asker, service + 1, many);
    listener.turn();
    asker.turn();
    EXPECT_EQ(asker.counters().taken, many);
}

}  // namespace
}  // namespace wireproof::verbs::cm_timers_test
