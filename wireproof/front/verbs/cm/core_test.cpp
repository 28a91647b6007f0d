// What no command shows: refusals after which the identifier asks again, and names that nobody has
// yet. The device has no keeper and receives nothing, and the test says how late it is.
#include "wireproof/front/verbs/cm/core.hpp"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::verbs::test {
namespace {

class CmInTime : public testing::Test {
protected:
    void TearDown() override { cm.close(channel); }

    void pass(Instant to) {
        cm.look(to);
        cm.device().managing([&](Instant, proto::ib::ConnectionManagement& management) {
            cm.on_deadline(to, management);
            return 0;
        });
    }
    std::size_t told(std::uint32_t event) { return channel->waiting(id, event); }

    static std::shared_ptr<Device> new_device() {
        Address address = wireproof::test::own_host(8);
        address.port = rocev2_port;
        return Device::open({.address = address}).value();
    }

    RdmaCm cm{new_device()};
    std::shared_ptr<CmChannel> channel = std::make_shared<CmChannel>();
    std::uint32_t id = 0;
};

class Refused : public CmInTime {
protected:
    void SetUp() override {
        Address to = cm.device().address();
        to.port = 9;
        ASSERT_EQ(cm.create(channel, 1, space(), 0, id), 0);
        ASSERT_EQ(cm.resolve_address(channel, id, {}, {.address = to}, Duration()), 0);
        ASSERT_EQ(cm.resolve_route(channel, id), 0);
        rdma_ucm_conn_param asked{};
        asked.valid = 1;
        before_question = cm.device().now();
        ASSERT_EQ(cm.connect(channel, id, asked), 0);
        after_question = cm.device().now();
    }
    virtual std::uint16_t space() const { return RDMA_PS_TCP; }

    std::optional<proto::ib::CmId> connection() {
        std::optional<proto::ib::CmId> found;
        cm.with(channel, id,
                [&](const CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
                    found = one.connection;
                    return 0;
                });
        return found;
    }
    /// The refusal arrives at once, or when it no longer means that it was too early.
    enum class When : std::uint8_t { soon, late };
    void refuse(When when, proto::ib::CmEvent event) {
        event.id = connection().value();
        const Instant at =
            when == When::soon ? before_question : after_question + limits::early_most;
        cm.device().managing([&](Instant, proto::ib::ConnectionManagement& management) {
            cm.on_event(at, management, event);
            return 0;
        });
    }
    static proto::ib::CmEvent rejection(proto::ib::CmReason reason) {
        return {.what = proto::ib::CmEvent::What::rejected,
                .message = proto::ib::CmReject{.reason = reason}};
    }
    /// True: soon after the refusal, a request other than `before` is on its way.
    bool asks_again(proto::ib::CmId before) {
        pass(before_question + Duration::milliseconds(100));
        const auto now = connection();
        return now && *now != before;
    }

    Instant before_question;
    Instant after_question;
};

class RefusedDatagrams : public Refused {
    std::uint16_t space() const override { return RDMA_PS_UDP; }
};

TEST_F(Refused, BecauseItWasTooEarlyAsksAgain) {
    const proto::ib::CmId first = connection().value();
    refuse(When::soon, rejection(proto::ib::CmReason::invalid_service));
    EXPECT_TRUE(asks_again(first));
    EXPECT_EQ(told(cm_event::rejected), 0U);
    refuse(When::late, rejection(proto::ib::CmReason::invalid_service));
    EXPECT_EQ(told(cm_event::rejected), 1U);
    EXPECT_FALSE(connection());
}

TEST_F(Refused, ForAnotherReasonIsReported) {
    refuse(When::soon, rejection(proto::ib::CmReason::consumer));
    EXPECT_EQ(told(cm_event::rejected), 1U);
}

TEST_F(Refused, ForItsPathMtuAsksForTheOneThatWouldDo) {
    proto::ib::CmEvent narrow = rejection(proto::ib::CmReason::invalid_path_mtu);
    auto& why = std::get<proto::ib::CmReject>(narrow.message);
    why.detail_length = 1;
    why.detail[0] = std::byte{1};
    const proto::ib::CmId first = connection().value();
    refuse(When::soon, narrow);
    EXPECT_TRUE(asks_again(first));
    cm.with(channel, id, [&](const CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        EXPECT_EQ(one.path_mtu, 256U);
        EXPECT_EQ(std::get<proto::ib::CmRequest>(one.question).path_mtu, 1);
        return 0;
    });
    refuse(When::soon, narrow);  // not smaller than the path MTU that it asked for
    EXPECT_EQ(told(cm_event::rejected), 1U);
}

TEST_F(Refused, AndDestroyedAsksNoMore) {
    refuse(When::soon, rejection(proto::ib::CmReason::invalid_service));
    std::uint32_t taken = 0;
    EXPECT_EQ(cm.destroy(channel, id, taken), 0);
    pass(after_question + limits::early_most);
    EXPECT_FALSE(connection());
}

TEST_F(RefusedDatagrams, BecauseItWasTooEarlyAsksAgain) {
    const proto::ib::CmEvent unsupported{
        .what = proto::ib::CmEvent::What::resolved,
        .message = proto::ib::CmServiceReply{.status = proto::ib::CmServiceStatus::unsupported}};
    const proto::ib::CmId first = connection().value();
    refuse(When::soon, unsupported);
    EXPECT_TRUE(asks_again(first));
    refuse(When::late, unsupported);
    EXPECT_EQ(told(cm_event::unreachable), 1U);
}

/// Asks another process of this host. It is a socket at its address, and never answers.
class AskedProcess : public CmInTime, public testing::WithParamInterface<std::uint16_t> {
protected:
    void SetUp() override {
        Address to = address;
        to.port = 9;
        ASSERT_EQ(cm.create(channel, 1, GetParam(), 0, id), 0);
        ASSERT_EQ(cm.resolve_address(channel, id, {}, {.address = to}, Duration()), 0);
        ASSERT_EQ(cm.resolve_route(channel, id), 0);
        rdma_ucm_conn_param asked{};
        asked.valid = 1;
        ASSERT_EQ(cm.connect(channel, id, asked), 0);
        now_ = cm.device().now();
    }
    /// Enough for one look.
    void pass_second() { pass(now_ = now_ + Duration::milliseconds(1000)); }
    void look() { cm.look(now_); }
    bool is_refused() {
        return told(GetParam() == RDMA_PS_UDP ? cm_event::unreachable : cm_event::rejected) > 0;
    }
    static UdpSocket begin() {
        auto socket = UdpSocket::open({.local = address});
        WIREPROOF_CHECK(socket.has_value());
        return std::move(*socket);
    }

    static inline const Address address = [] {
        Address one = wireproof::test::own_host(7);
        one.port = rocev2_port;
        return one;
    }();
    std::optional<UdpSocket> process = begin();

private:
    Instant now_;
};
INSTANTIATE_TEST_SUITE_P(Spaces, AskedProcess, testing::Values(RDMA_PS_TCP, RDMA_PS_UDP));

TEST_P(AskedProcess, MayTakeItsTime) {
    for (int i = 0; i < 60; ++i) pass_second();
    EXPECT_FALSE(is_refused());
}

TEST_P(AskedProcess, ThatIsGoneRefusesAfterAllThatItSentIsRead) {
    pass_second();
    EXPECT_FALSE(is_refused());
    process.reset();
    look();
    EXPECT_FALSE(is_refused()) << "an answer may wait to be read";
    pass_second();
    EXPECT_TRUE(is_refused());
    pass_second();
    EXPECT_EQ(told(cm_event::unreachable) + told(cm_event::rejected), 1U);
}

TEST_P(AskedProcess, ThatIsGoneWhenItIsAskedRefusesToo) {
    std::uint32_t taken = 0;
    ASSERT_EQ(cm.destroy(channel, id, taken), 0);
    Address to = address;
    to.port = 9;
    ASSERT_EQ(cm.create(channel, 1, GetParam(), 0, id), 0);
    ASSERT_EQ(cm.resolve_address(channel, id, {}, {.address = to}, Duration()), 0);
    ASSERT_EQ(cm.resolve_route(channel, id), 0);
    process.reset();
    rdma_ucm_conn_param asked{};
    asked.valid = 1;
    ASSERT_EQ(cm.connect(channel, id, asked), 0);
    EXPECT_TRUE(is_refused());
}

TEST_P(AskedProcess, ThatAnotherReplacesIsAskedAgain) {
    process.reset();
    process = begin();
    for (int i = 0; i < 3; ++i) pass_second();
    EXPECT_FALSE(is_refused());
}

/// Asks for 127.0.0.1, a name that stands for whichever process listens there.
class NameOfNobody : public CmInTime {
protected:
    void SetUp() override {
        ASSERT_EQ(cm.create(channel, 1, RDMA_PS_TCP, 0, id), 0);
        before = cm.device().now();
        ASSERT_EQ(cm.resolve_address(channel, id, {}, {.address = name}, limits::early_most * 10),
                  0);
        after = cm.device().now();
    }

    const Address name = Address::parse("127.0.0.1:7322").value();
    Instant before;
    Instant after;
};

TEST_F(NameOfNobody, IsLookedForAMomentLonger) {
    const auto is_resolved = [&] { return told(cm_event::address_resolved) == 1; };
    pass(before + (limits::early_most - Duration(1)));
    EXPECT_FALSE(is_resolved());
    pass(after + limits::early_most * 2);
    EXPECT_TRUE(is_resolved()) << "the device answers that nobody listens";
}

TEST_F(NameOfNobody, IsFoundOnceSomebodyListens) {
    std::uint32_t listener = 0;
    ASSERT_EQ(cm.create(channel, 2, RDMA_PS_TCP, 0, listener), 0);
    ASSERT_EQ(cm.bind(channel, listener, {.address = name}), 0);
    pass(after + Duration::milliseconds(20));
    EXPECT_EQ(told(cm_event::address_resolved), 1U);
    cm.with(channel, id, [&](const CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        EXPECT_EQ(one.peer_gid, gid_of(cm.device().address()));
        return 0;
    });
}

}  // namespace
}  // namespace wireproof::verbs::test
