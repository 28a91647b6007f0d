// The end of a process with which there is a connection, or to which a question is on its way. Both
// devices are in this process, and nothing but the test moves them.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "wireproof/front/verbs/cm/core.hpp"
#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/peers/peers_test_kit.hpp"

namespace wireproof::verbs::cm_ends_test {
namespace {

using peers_test::address_of;
using peers_test::Stranger;

struct Side {
    explicit Side(std::uint8_t last)
        : device(Device::open({.address = address_of(last)}).value()), cm(device) {
        EXPECT_EQ(cm.create(channel, last, RDMA_PS_TCP, IBV_QPT_RC, id), 0);
    }
    /// Receives all that has arrived, and sends all that waits.
    void turn() const {
        device->ending(0, [](proto::ib::Port&) { return 0; });
        device->managing([](Instant, proto::ib::ConnectionManagement&) { return 0; });
    }
    std::size_t told(std::uint32_t event, std::uint32_t of) const {
        return channel->waiting(of, event);
    }
    bool knows(PeerId peer) const {
        return device->locked([&](proto::ib::Port&) { return device->has_met(peer); });
    }

    std::shared_ptr<Device> device;
    RdmaCm cm;
    std::shared_ptr<CmChannel> channel = std::make_shared<CmChannel>();
    std::uint32_t id = 0;
};

enum class Meets : bool { no, yes };

/// Devices that do not meet are those of two users. Here a stranger listens at the second's name.
class EndOfPeer : public testing::TestWithParam<Meets> {
protected:
    void SetUp() override {
        Address to = address_of(2);
        to.port = 7471;
        ASSERT_EQ(listener->cm.bind(listener->channel, listener->id, {.address = to}), 0);
        ASSERT_EQ(listener->cm.listen(listener->channel, listener->id, 0), 0);
        ASSERT_EQ(asker.cm.resolve_address(asker.channel, asker.id, {}, {.address = to}, {}), 0);
        ASSERT_EQ(asker.cm.resolve_route(asker.channel, asker.id), 0);
        ASSERT_EQ(asker.cm.connect(asker.channel, asker.id, parameters()), 0);
        until([&] { return listener->told(cm_event::connect_request, listener->id) == 1; });
        const auto both_know = [&] {
            const auto peer = asker.device->hold(address_of(2));
            const bool knows = asker.knows(*peer);
            asker.device->release(*peer);
            return knows;
        };
        if (GetParam() == Meets::yes) until(both_know);
        EXPECT_EQ(both_know(), GetParam() == Meets::yes);
    }
    void TearDown() override { asker.cm.close(asker.channel); }

    template <class Condition>
    void until(Condition&& condition) {
        for (int i = 0; i < 10'000 && !condition(); ++i) {
            listener->turn();
            asker.turn();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        ASSERT_TRUE(condition());
    }
    void connect() {
        const std::uint32_t asked = listener->id + 1;
        ASSERT_EQ(listener->cm.accept(listener->channel, asked, 1, parameters()), 0);
        until([&] { return asker.told(cm_event::connect_response, asker.id) == 1; });
        ASSERT_EQ(asker.cm.accept(asker.channel, asker.id, 1, {}), 0);
        until([&] { return listener->told(cm_event::established, asked) == 1; });
    }
    /// What a killed process does: no message, and all its sockets are gone.
    void kill() { listener.reset(); }
    /// Whether the first side was told the event, before and after it has looked at the kernel.
    std::size_t told_soon(std::uint32_t event) {
        asker.turn();
        return asker.told(event, asker.id);
    }
    std::size_t told_after_look(std::uint32_t event) {
        asker.cm.look(asker.device->now());
        return told_soon(event);
    }
    static rdma_ucm_conn_param parameters() {
        rdma_ucm_conn_param asked{};
        asked.valid = 1;
        return asked;
    }

    std::optional<Listener> stranger = GetParam() == Meets::yes
                                           ? std::optional<Listener>()
                                           : Listener::open(Stranger::place_of(2)).value();
    Side asker{1};
    std::optional<Side> listener{2};
};
INSTANTIATE_TEST_SUITE_P(Devices, EndOfPeer, testing::Values(Meets::no, Meets::yes));

TEST_P(EndOfPeer, DisconnectsAtOnceWhereBothHaveMet) {
    connect();
    EXPECT_EQ(told_after_look(cm_event::disconnected), 0U);
    kill();
    EXPECT_EQ(told_soon(cm_event::disconnected), GetParam() == Meets::yes ? 1U : 0U);
    EXPECT_EQ(told_after_look(cm_event::disconnected), 1U);
}

TEST_P(EndOfPeer, DisconnectsAlsoIfAnotherProcessHasTheAddress) {
    connect();
    kill();
    stranger.reset();
    listener.emplace(2);
    EXPECT_EQ(told_after_look(cm_event::disconnected), 1U);
}

TEST_P(EndOfPeer, BeforeItAnsweredIsARefusal) {
    EXPECT_EQ(told_after_look(cm_event::rejected), 0U);
    kill();
    EXPECT_EQ(told_soon(cm_event::rejected), 0U);
    EXPECT_EQ(told_after_look(cm_event::rejected), 1U);
}

TEST_P(EndOfPeer, BeforeItAnsweredIsNoRefusalIfAnotherProcessMayAnswer) {
    kill();
    listener.emplace(2);
    EXPECT_EQ(told_after_look(cm_event::rejected), 0U);
}

}  // namespace
}  // namespace wireproof::verbs::cm_ends_test
