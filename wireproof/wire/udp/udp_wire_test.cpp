// UDP between sockets on 127.0.0.1 and ::1, with ports that the kernel chooses: to which peer a
// frame belongs, which frames are dropped, and how they are counted.
#include "wireproof/wire/udp/udp_wire.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "wireproof/wire/udp/ipv6_test_kit.hpp"
#include "wireproof/wire/udp/peers_test_kit.hpp"

namespace wireproof::test {
namespace {

constexpr Instant now{};

ConstBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(ConstBytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
    return text;
}

Address loopback() {
    return *Address::parse("127.0.0.1:0");
}

UdpWire open_udp(UdpWire::Config config) {
    if (!config.local.is_set()) config.local = loopback();
    auto wire = UdpWire::open(config);
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

std::string error_of(const UdpWire::Config& config) {
    const auto wire = UdpWire::open(config);
    return wire ? "none" : wire.error().message;
}

/// Writes the first letter in place and points to the rest.
bool commit(UdpWire& wire, PeerId to, std::string_view text) {
    TxFrame* frame = wire.lane(to).claim();
    if (frame == nullptr) return false;
    frame->add_header<1>()[0] = static_cast<std::byte>(text.front());
    frame->add_payload(bytes_of(text.substr(1)));
    wire.lane(to).commit();
    return true;
}

bool send_text(UdpWire& wire, PeerId to, std::string_view text) {
    if (!commit(wire, to, text)) return false;
    wire.flush(now);
    return true;
}

bool arrives(const UdpWire& wire) {
    pollfd wanted{wire.wait_handle(), POLLIN, 0};
    return ::poll(&wanted, 1, patience) == 1;
}

/// "<peer>:<text>" of the next frame, which is waited for. "nothing" if none arrives.
std::string next_text(UdpWire& wire) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (wire.prepare_to_sleep() && !arrives(wire)) break;
        if (const auto frame = wire.receive(now)) {
            return std::to_string(static_cast<int>(frame->from)) + ":" + text_of(frame->bytes);
        }
    }
    return "nothing";
}

/// Does not wait: on loopback a frame has arrived once it is sent.
std::string next_now(UdpWire& wire) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (const auto frame = wire.receive(now)) {
            return std::to_string(static_cast<int>(frame->from)) + ":" + text_of(frame->bytes);
        }
    }
    return "nothing";
}

TEST(UdpWire, CarriesFramesBothWays) {
    UdpWire a = open_udp({});
    UdpWire b = open_udp({.peers = {a.local_address()}});
    ASSERT_TRUE(a.set_peer(first, b.local_address()));
    ASSERT_TRUE(commit(a, first, "one"));
    ASSERT_TRUE(commit(a, first, "two"));
    a.flush(now);
    EXPECT_EQ(next_text(b), "0:one");
    EXPECT_EQ(next_text(b), "0:two");
    ASSERT_TRUE(send_text(b, first, "back"));
    EXPECT_EQ(next_text(a), "0:back");
    EXPECT_EQ(a.counters().frames_sent, 2U);
    EXPECT_EQ(a.counters().bytes_sent, 6U);
    EXPECT_EQ(b.counters().frames_received, 2U);
    EXPECT_EQ(b.counters().bytes_received, 6U);
}

TEST(UdpWire, CarriesFramesOverIpv6) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    const Address local = *Address::parse("[::1]:0");
    UdpWire a = open_udp({.local = local});
    UdpWire b = open_udp({.local = local, .peers = {a.local_address()}});
    ASSERT_TRUE(a.set_peer(first, b.local_address()));
    ASSERT_TRUE(send_text(a, first, "one"));
    EXPECT_EQ(next_text(b), "0:one");
    ASSERT_TRUE(send_text(b, first, "back"));
    EXPECT_EQ(next_text(a), "0:back");
}

TEST(UdpWire, SendsNothingBeforeTheFlush) {
    UdpWire a = open_udp({.peers = {Address{}}});
    UdpWire b = open_udp({.peers = {a.local_address()}});
    ASSERT_TRUE(commit(b, first, "one"));
    EXPECT_EQ(next_now(a), "nothing");
    b.flush(now);
    EXPECT_EQ(next_text(a), "0:one");
}

TEST(UdpWire, AFullBatchLendsNoRoomToAnyLaneUntilTheFlush) {
    UdpWire a = open_udp({.peers = {Address{}}});
    UdpWire b = open_udp({.peers = {Address{}}});
    UdpWire c = open_udp({.peers = {a.local_address(), b.local_address()}, .batch = 2});
    ASSERT_TRUE(commit(c, first, "one"));
    ASSERT_TRUE(commit(c, first, "two"));
    EXPECT_EQ(c.lane(first).claim(), nullptr);
    EXPECT_EQ(c.lane(second).claim(), nullptr);
    c.flush(now);
    ASSERT_TRUE(send_text(c, second, "six"));
    EXPECT_EQ(next_text(a), "0:one");
    EXPECT_EQ(next_text(a), "0:two");
    EXPECT_EQ(next_text(b), "0:six");
}

TEST(UdpWire, DistinguishesPeersByTheirSource) {
    UdpWire hub = open_udp({});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    UdpWire b = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(hub.set_peer(first, a.local_address()));
    ASSERT_TRUE(hub.set_peer(second, b.local_address()));
    for (int turn = 0; turn < 3; ++turn) {
        ASSERT_TRUE(send_text(a, first, "of a"));
        ASSERT_TRUE(send_text(b, first, "of b"));
        ASSERT_TRUE(send_text(b, first, "of b"));
        EXPECT_EQ(next_text(hub), "0:of a");
        EXPECT_EQ(next_text(hub), "1:of b");
        EXPECT_EQ(next_text(hub), "1:of b");
    }
    ASSERT_TRUE(commit(hub, second, "to b"));
    ASSERT_TRUE(commit(hub, first, "to a"));
    hub.flush(now);
    EXPECT_EQ(next_text(a), "0:to a");
    EXPECT_EQ(next_text(b), "0:to b");
}

TEST(UdpWire, DropsAndCountsStrangersWithoutAnOpenPlace) {
    UdpWire hub = open_udp({});
    UdpWire friendly = open_udp({.peers = {hub.local_address()}});
    UdpWire stranger = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(hub.set_peer(first, friendly.local_address()));
    ASSERT_TRUE(send_text(stranger, first, "let me in"));
    ASSERT_TRUE(send_text(friendly, first, "hello"));
    EXPECT_EQ(next_text(hub), "0:hello");
    EXPECT_EQ(hub.counters().unknown_source, 1U);
    EXPECT_EQ(hub.counters().frames_received, 1U);
}

TEST(UdpWire, APeerWithoutAnAddressMayBeNobodyUntilItHasOne) {
    UdpWire hub = open_udp({.peers = {Address{}}, .unset_is_open = false});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(send_text(a, first, "too soon"));
    EXPECT_EQ(next_now(hub), "nothing");
    EXPECT_EQ(hub.counters().unknown_source, 1U);
    EXPECT_EQ(hub.lane(first).claim(), nullptr);
    ASSERT_TRUE(hub.set_peer(first, a.local_address()));
    ASSERT_TRUE(send_text(a, first, "now"));
    EXPECT_EQ(next_text(hub), "0:now");
}

TEST(UdpWire, AnOpenPlaceAnswersTheLatestSourceUntilItIsSettled) {
    UdpWire hub = open_udp({.peers = {Address{}}});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    UdpWire b = open_udp({.peers = {hub.local_address()}});
    EXPECT_EQ(hub.lane(first).claim(), nullptr);  // no address yet
    hub.settle(first);                            // without an address it stays open

    ASSERT_TRUE(send_text(a, first, "of a"));
    EXPECT_EQ(next_text(hub), "0:of a");
    EXPECT_EQ(hub.lane(first).address(), a.local_address());
    ASSERT_TRUE(send_text(b, first, "of b"));
    EXPECT_EQ(next_text(hub), "0:of b");
    ASSERT_TRUE(send_text(hub, first, "answer"));
    EXPECT_EQ(next_text(b), "0:answer");

    hub.settle(first);
    ASSERT_TRUE(send_text(a, first, "of a"));
    ASSERT_TRUE(send_text(b, first, "of b"));
    EXPECT_EQ(next_text(hub), "0:of b");
    EXPECT_EQ(hub.counters().unknown_source, 1U);

    hub.unsettle(first);
    ASSERT_TRUE(send_text(hub, first, "still there?"));
    EXPECT_EQ(next_text(b), "0:still there?");
    ASSERT_TRUE(send_text(a, first, "of a"));
    EXPECT_EQ(next_text(hub), "0:of a");
    EXPECT_EQ(hub.lane(first).address(), a.local_address());
}

TEST(UdpWire, OpenPlacesFillInTheOrderOfTheirNumbers) {
    UdpWire hub = open_udp({.peers = {Address{}, Address{}}});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    UdpWire b = open_udp({.peers = {hub.local_address()}});
    UdpWire c = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(send_text(a, first, "a"));
    ASSERT_TRUE(send_text(b, first, "b"));
    ASSERT_TRUE(send_text(a, first, "a"));
    EXPECT_EQ(next_text(hub), "0:a");
    EXPECT_EQ(next_text(hub), "1:b");
    EXPECT_EQ(next_text(hub), "0:a");
    hub.settle(first);
    ASSERT_TRUE(send_text(c, first, "c"));
    EXPECT_EQ(next_text(hub), "1:c");
}

TEST(UdpWire, AGivenAddressIsNeitherSettledNorOpened) {
    UdpWire hub = open_udp({});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    UdpWire stranger = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(hub.set_peer(first, a.local_address()));
    hub.settle(first);
    hub.unsettle(first);
    ASSERT_TRUE(send_text(stranger, first, "let me in"));
    EXPECT_EQ(next_now(hub), "nothing");
    EXPECT_EQ(hub.counters().unknown_source, 1U);
}

TEST(UdpWire, AnAddressGivenToAPeerLeavesTheOpenPlaceThatHadIt) {
    UdpWire hub = open_udp({.peers = {Address{}}});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    UdpWire b = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(send_text(a, first, "a"));
    EXPECT_EQ(next_text(hub), "0:a");
    hub.settle(first);
    ASSERT_TRUE(hub.set_peer(second, a.local_address()));
    EXPECT_EQ(hub.lane(first).claim(), nullptr);
    ASSERT_TRUE(send_text(a, first, "a"));
    EXPECT_EQ(next_text(hub), "1:a");
    ASSERT_TRUE(send_text(b, first, "b"));
    EXPECT_EQ(next_text(hub), "0:b");

    const auto taken = hub.set_peer(first, a.local_address());
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().message,
              "peer " + a.local_address().to_string() + ": already the address of peer 1");
}

TEST(UdpWire, AMovedPeerIsKnownByItsNewAddressOnly) {
    UdpWire hub = open_udp({});
    UdpWire before = open_udp({.peers = {hub.local_address()}});
    UdpWire after = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(hub.set_peer(first, before.local_address()));
    ASSERT_TRUE(send_text(before, first, "before"));
    EXPECT_EQ(next_text(hub), "0:before");
    ASSERT_TRUE(hub.set_peer(first, after.local_address()));
    ASSERT_TRUE(send_text(before, first, "before"));
    ASSERT_TRUE(send_text(after, first, "after"));
    EXPECT_EQ(next_text(hub), "0:after");
    EXPECT_EQ(hub.counters().unknown_source, 1U);
}

TEST(UdpWire, CarriesFrameMaxAndDropsWhatIsLonger) {
    UdpWire hub = open_udp({.peers = {Address{}}, .frame_max = 100});
    UdpWire a = open_udp({.peers = {hub.local_address()}, .frame_max = 200});
    ASSERT_TRUE(send_text(a, first, std::string(101, 'x')));
    ASSERT_TRUE(send_text(a, first, std::string(100, 'y')));
    EXPECT_EQ(next_text(hub), "0:" + std::string(100, 'y'));
    EXPECT_EQ(hub.counters().too_long, 1U);
    EXPECT_EQ(hub.counters().frames_received, 1U);
}

TEST(UdpWire, CarriesTheLongestDatagramOverLoopback) {
    UdpWire hub = open_udp({.peers = {Address{}}, .frame_max = UdpWire::frame_limit, .batch = 2});
    UdpWire a =
        open_udp({.peers = {hub.local_address()}, .frame_max = UdpWire::frame_limit, .batch = 2});
    const std::string longest(UdpWire::frame_limit, 'z');
    ASSERT_TRUE(send_text(a, first, longest));
    EXPECT_TRUE(next_text(hub) == "0:" + longest);
    EXPECT_EQ(a.counters().send_failed, 0U);
}

TEST(UdpWire, GathersEveryPieceOfAFrame) {
    UdpWire hub = open_udp({.peers = {Address{}}});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    const std::string payload = "payload";
    TxFrame* frame = a.lane(first).claim();
    ASSERT_NE(frame, nullptr);
    frame->add_header<2>()[0] = std::byte{'<'};
    frame->add_payload(bytes_of(payload));
    frame->add_header<1>()[0] = std::byte{'>'};
    frame->mark_resent();
    a.lane(first).commit();
    a.flush(now);
    EXPECT_EQ(next_text(hub), std::string("0:<\0payload>", 12));
    EXPECT_EQ(a.counters().frames_resent, 1U);
}

TEST(UdpWire, CountsWhatTheKernelDroppedBeforeReceipt) {
    UdpWire hub = open_udp({.peers = {Address{}}, .receive_buffer = 4096});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    const std::string text(1000, 'x');
    std::uint64_t sent = 0;
    for (; sent < 100; ++sent) ASSERT_TRUE(send_text(a, first, text));
    std::uint64_t received = 0;
    while (received < sent && next_now(hub) != "nothing") ++received;
    ASSERT_LT(received, sent);
    // The count comes with a frame that was queued after the drop, and again with each later frame.
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(send_text(a, first, text));
        std::optional<RxFrame> frame;
        for (int looks = 0; looks < 3 && !frame; ++looks) {
            if (hub.prepare_to_sleep()) arrives(hub);
            frame = hub.receive(now);
        }
        ASSERT_TRUE(frame);
        EXPECT_EQ(frame->after_overrun, i == 0);
    }
    EXPECT_EQ(hub.counters().kernel_dropped, sent - received);
}

TEST(UdpWire, AFrameTheKernelRefusesStopsNoOther) {
    UdpWire hub = open_udp({.peers = {Address{}}});
    // Broadcasting needs a permission for which this socket never asked.
    UdpWire a = open_udp({.peers = {hub.local_address(), *Address::parse("255.255.255.255:9")}});
    ASSERT_TRUE(commit(a, first, "one"));
    ASSERT_TRUE(commit(a, second, "lost"));
    ASSERT_TRUE(commit(a, first, "two"));
    a.flush(now);
    EXPECT_EQ(next_text(hub), "0:one");
    EXPECT_EQ(next_text(hub), "0:two");
    EXPECT_EQ(a.counters().send_failed, 1U);
    EXPECT_EQ(a.counters().send_errors.to_string(), "Permission denied (1 packet)");
    EXPECT_EQ(a.counters().frames_sent, 2U);
}

TEST(UdpWire, AReportThatNobodyListenedLosesNoLaterFrame) {
    Address closed;
    {
        const UdpWire gone = open_udp({});
        closed = gone.local_address();
    }
    UdpWire hub = open_udp({.peers = {Address{}}});
    UdpWire a = open_udp({.peers = {hub.local_address(), closed}});
    const int on = 1;
    ASSERT_EQ(::setsockopt(a.wait_handle(), IPPROTO_IP, IP_RECVERR, &on, sizeof on), 0);
    ASSERT_TRUE(send_text(a, second, "anybody?"));
    ASSERT_TRUE(send_text(a, first, "one"));
    EXPECT_EQ(next_text(hub), "0:one");
    EXPECT_EQ(a.counters().send_refused, 1U);
    EXPECT_EQ(a.counters().send_failed, 0U);

    ASSERT_TRUE(send_text(a, second, "anybody?"));
    EXPECT_EQ(next_now(a), "nothing");
    EXPECT_EQ(a.counters().receive_failed, 0U);
}

TEST(UdpWire, SaysWhichAddressIsBusyAndWhy) {
    const UdpWire holder = open_udp({});
    EXPECT_EQ(error_of({.local = holder.local_address()}),
              "cannot bind " + holder.local_address().to_string() + ": Address already in use");
}

TEST(UdpWire, AWireThatIsAbandonedKeepsNoPort) {
    UdpWire wire = open_udp({});
    const Address address = wire.local_address();
    wire.abandon();
    EXPECT_EQ(error_of({.local = address}), "none");
}

TEST(UdpWire, ASettledPlaceGoesToAnotherSourceOnceItsProgramHasEnded) {
    for (const bool ipv6 : {false, true}) {
        if (ipv6 && !host_has_ipv6()) GTEST_SKIP() << no_ipv6;
        const Address local = ipv6 ? *Address::parse("[::1]:0") : loopback();
        UdpWire hub = open_udp({.local = local, .peers = {Address{}}, .succeeds_ended = true});
        std::optional<UdpWire> a = open_udp({.local = local, .peers = {hub.local_address()}});
        UdpWire b = open_udp({.local = local, .peers = {hub.local_address()}});
        ASSERT_TRUE(send_text(*a, first, "one"));
        EXPECT_EQ(next_text(hub), "0:one");
        hub.settle(first);
        const auto ask_in_vain = [&] {
            ASSERT_TRUE(send_text(hub, first, "answer"));
            EXPECT_EQ(next_now(hub), "nothing");
            ASSERT_TRUE(send_text(b, first, "me"));
            EXPECT_EQ(next_now(hub), "nothing");
        };
        for (int i = 0; i < 5; ++i) ask_in_vain();
        a.reset();
        ask_in_vain();  // one refusal may be an old one
        ASSERT_TRUE(send_text(hub, first, "answer"));
        EXPECT_EQ(next_now(hub), "nothing");
        ASSERT_TRUE(send_text(b, first, "now"));
        EXPECT_EQ(next_text(hub), "0:now");
        ASSERT_TRUE(send_text(hub, first, "answer"));
        EXPECT_EQ(next_text(b), "0:answer");
        pollfd error{hub.wait_handle(), 0, 0};
        EXPECT_EQ(::poll(&error, 1, 0), 0) << "all reports are taken, so the caller may sleep";
    }
}

// An end from which frames come has not ended, whatever somebody reports.
TEST(UdpWire, AFrameOfASettledPlaceOutweighsRefusals) {
    UdpWire hub = open_udp({.peers = {Address{}}, .succeeds_ended = true});
    UdpWire b = open_udp({.peers = {hub.local_address()}});
    std::optional<UdpWire> a = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(send_text(*a, first, "one"));
    EXPECT_EQ(next_text(hub), "0:one");
    hub.settle(first);
    const Address there = a->local_address();
    for (int life = 0; life < 3; ++life) {
        a.reset();
        ASSERT_TRUE(send_text(hub, first, "answer"));
        EXPECT_EQ(next_now(hub), "nothing");
        a = open_udp({.local = there, .peers = {hub.local_address()}});
        ASSERT_TRUE(send_text(*a, first, "here"));
        EXPECT_EQ(next_text(hub), "0:here");
        ASSERT_TRUE(send_text(b, first, "me"));
        EXPECT_EQ(next_now(hub), "nothing");
    }
}

TEST(UdpWire, RefusesAConfigThatCannotWork) {
    const Address v6 = *Address::parse("[::1]:7");
    EXPECT_EQ(error_of({}), "UDP wire: no local address");
    EXPECT_EQ(error_of({.local = loopback(), .frame_max = 70'000}),
              "UDP wire: frame_max is 70000, not 1 to 65507");
    EXPECT_EQ(error_of({.local = loopback(), .batch = 0}), "UDP wire: batch is 0, not 1 to 1024");
    EXPECT_EQ(error_of({.local = loopback(), .batch_most = 1025}),
              "UDP wire: batch_most is 1025, not 1 to 1024");
    EXPECT_EQ(error_of({.local = loopback(), .peers = {loopback()}}),
              "peer 127.0.0.1:0: a peer must have a port");
    EXPECT_NE(error_of({.local = loopback(), .peers = {v6}})
                  .find("peer [::1]:7: not of the same family as local 127.0.0.1:"),
              std::string::npos);
}

TEST(UdpWire, LanesStayWhereTheyAreWhenPeersComeAndTheWireMoves) {
    UdpWire hub = open_udp({.peers = {Address{}}});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    UdpLane& lane = a.lane(first);
    for (std::uint16_t i = 1; i < 300; ++i) ASSERT_TRUE(a.set_peer(PeerId{i}, Address{}));
    UdpWire moved = std::move(a);
    EXPECT_EQ(&moved.lane(first), &lane);
    ASSERT_TRUE(send_text(moved, first, "one"));
    EXPECT_EQ(next_text(hub), "0:one");
}

TEST(UdpWire, SaysDoNotSleepWhileItsBatchHoldsAFrame) {
    UdpWire hub = open_udp({.peers = {Address{}}});
    UdpWire a = open_udp({.peers = {hub.local_address()}});
    ASSERT_TRUE(commit(a, first, "one"));
    ASSERT_TRUE(commit(a, first, "two"));
    a.flush(now);
    EXPECT_TRUE(hub.prepare_to_sleep());  // the handle shows them
    EXPECT_EQ(next_text(hub), "0:one");
    EXPECT_FALSE(hub.prepare_to_sleep());
    EXPECT_EQ(next_text(hub), "0:two");
    EXPECT_TRUE(hub.prepare_to_sleep());
}

TEST(UdpWire, CarriesManyFramesThroughManyBatches) {
    UdpWire hub = open_udp({.peers = {Address{}}, .batch = 8});
    UdpWire a = open_udp({.peers = {hub.local_address()}, .batch = 8});
    std::deque<std::string> texts;  // must stay valid until the flush
    std::size_t received = 0;
    for (int turn = 0; turn < 50; ++turn) {
        for (int i = 0; i < 1 + turn % 20; ++i) {
            const std::string& text = texts.emplace_back("frame " + std::to_string(texts.size()));
            if (!commit(a, first, text)) {
                a.flush(now);
                ASSERT_TRUE(commit(a, first, text));
            }
            if (i % 3 == 0) a.flush(now);
        }
        a.flush(now);
        while (received < texts.size()) {
            ASSERT_EQ(next_text(hub), "0:frame " + std::to_string(received));
            ++received;
        }
    }
    EXPECT_EQ(hub.counters().kernel_dropped, 0U);
}

}  // namespace
}  // namespace wireproof::test
