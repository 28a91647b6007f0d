// Devices that connect by communication management over the loopback network. One side runs in its
// own thread, like a second program.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t service = service_of_port(7174);

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}
/// The text without the zeros after it.
std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data())};
}

TEST(Meeting, QueuePairsMeetByAServiceAndTellOneAnotherSomething) {
    for (const Transport transport : {Transport::reliable, Transport::unreliable}) {
        const QueuePairOptions options{.transport = transport, .ack_timeout = never_again};
        End passive(11, 1024, options);
        auto listener = Listener::open(passive.device, service);
        ASSERT_TRUE(listener) << listener.error();
        ASSERT_EQ(passive.pair.post_receive(1, passive.region->all()), Status::ok);

        std::string answered;
        bool parted = false;
        std::atomic<bool> sent_whole = false;
        std::atomic<bool> over = false;
        std::thread other([&] {
            End active(12, 1024, options);
            const auto met = active.pair.connect(host(11), service, bytes_of("may I?"), patience);
            answered = met ? text_of(*met) : "failed: " + met.error();
            active.put(0, "over the new connection");
            EXPECT_EQ(active.pair.send(5, active.region->piece(0, 23)), Status::ok);
            const auto sent = active.completions.wait(patience);
            EXPECT_TRUE(sent && sent->status == WorkStatus::success);
            sent_whole = true;
            parted = active.device.wait([&] { return active.pair.failed(); }, patience);
            over = true;
        });
        auto asked = listener->wait(patience);
        ASSERT_TRUE(asked);
        EXPECT_EQ(asked->address(), host(12));
        EXPECT_EQ(asked->transport(), transport);
        EXPECT_EQ(asked->told().size(), 56U);
        EXPECT_EQ(text_of(asked->told()), "may I?");
        const auto accepted = asked->accept(passive.pair, bytes_of("you may"), patience);
        EXPECT_TRUE(accepted) << accepted.error();
        const auto received = passive.completions.wait(patience);
        ASSERT_TRUE(received);
        EXPECT_EQ(received->status, WorkStatus::success);
        EXPECT_EQ(passive.text(0, received->length), "over the new connection");
        // A flag of another thread does not wake a device, so the waits are short.
        while (!sent_whole) passive.device.wait([] { return false; }, 10ms);
        passive.pair.disconnect();
        EXPECT_TRUE(passive.pair.failed());
        while (!over) passive.device.wait([] { return false; }, 10ms);
        other.join();
        EXPECT_EQ(answered, "you may");
        EXPECT_TRUE(parted);
    }
}

TEST(Meeting, WhatIsRefusedIsRefusedInOneLine) {
    End passive(13, 1024, {});
    std::vector<std::string> reasons;
    std::atomic<bool> over = false;
    std::thread other([&] {
        const auto ask = [&](const QueuePairOptions& options, std::size_t path_mtu,
                             std::string_view told, std::uint64_t whom) {
            End active(14, path_mtu, options);
            const auto met = active.pair.connect(host(13), whom, bytes_of(told), patience);
            EXPECT_FALSE(met);
            EXPECT_TRUE(active.pair.failed() || told.size() > 56);
            reasons.push_back(met ? "" : met.error());
        };
        ask({}, 1024, "nobody there", service_of_port(1));
        ask({}, 4096, "packets too long", service);
        ask({}, 1024, "no", service);
        ask({.transport = Transport::unreliable}, 1024, "other transport", service);
        ask({}, 1024, std::string(57, 'x'), service);
        over = true;
    });
    auto listener = Listener::open(passive.device, service);
    ASSERT_TRUE(listener);
    EXPECT_FALSE(Listener::open(passive.device, service));
    std::vector<std::string> told;
    while (!over) {
        auto asked = listener->wait(10ms);
        if (!asked) continue;
        told.push_back(text_of(asked->told()));
        if (told.size() == 1) {
            asked->reject(bytes_of("because"));
        } else {
            const auto accepted = asked->accept(passive.pair);
            EXPECT_FALSE(accepted);
            EXPECT_NE(accepted.error().find("another transport"), std::string::npos);
            // The program destroys the request without an answer, and so rejects it.
        }
        passive.device.poll();
    }
    other.join();
    EXPECT_EQ(told, (std::vector<std::string>{"no", "other transport"}));
    const std::string begin = "connection to " + host(13) + ": ";
    EXPECT_EQ(reasons,
              (std::vector<std::string>{
                  begin + "refused: nobody listens there", begin + "refused: invalid path MTU",
                  begin + "refused: refused by its user", begin + "refused: refused by its user",
                  begin + "there are too many private bytes"}));
}

TEST(Meeting, NobodyAtAllIsNoAnswer) {
    End lone(15, 1024, {});
    const auto met = lone.pair.connect(host(16), service, {}, 50ms);
    ASSERT_FALSE(met);
    EXPECT_EQ(met.error(), "connection to " + host(16) + ": no answer");
    EXPECT_TRUE(lone.pair.failed());
    EXPECT_FALSE(lone.pair.connect(host(16), service, {}, 50ms));
    auto other = QueuePair::create(lone.domain, lone.completions, lone.completions);
    EXPECT_FALSE(other->connect("nowhere", service, {}, 50ms));
    EXPECT_FALSE(other->connect("::1", service, {}, 50ms));
}

// A device answers even if no program ever listened there: a caller that asks the wrong host need
// not wait.
TEST(Meeting, ADeviceWithoutAnyListenerRefusesAtOnce) {
    End passive(19, 1024, {});
    std::string reason;
    std::atomic<bool> over = false;
    std::thread other([&] {
        End active(20, 1024, {});
        const auto met = active.pair.connect(host(19), service, {}, patience);
        if (!met) reason = met.error();
        over = true;
    });
    // A flag of another thread does not wake a device, so the wait is short.
    while (!over) passive.device.wait([] { return false; }, 10ms);
    other.join();
    EXPECT_EQ(reason, "connection to " + host(19) + ": refused: nobody listens there")
        << "and not that its limit has passed";
}

// More hosts than a device knows sent it a packet once.
TEST(Meeting, ADeviceThatMetMoreHostsThanItsTableHoldsAnswersTheNext) {
    End passive(21, 1024, {});
    const AddressHandle kept = *AddressHandle::create(passive.device, host(9), 7, 8);
    Address there = wireproof::test::own_host(21);
    there.port = rocev2_port;
    for (std::size_t number = 0; number < 9000; ++number) {
        Address from{.family = Address::Family::ipv4};
        from.host = {127, 66, static_cast<std::uint8_t>(number / 250),
                     static_cast<std::uint8_t>(1 + number % 250)};
        wireproof::test::Stranger one(from);
        one.send(there, one.with_icrc(there, wireproof::test::packet_of(64, number)));
        passive.device.poll();
    }
    EXPECT_EQ(kept.host(), host(9));
    std::string reason;
    std::atomic<bool> over = false;
    std::thread other([&] {
        End active(22, 1024, {});
        const auto met = active.pair.connect(host(21), service, {}, patience);
        if (!met) reason = met.error();
        over = true;
    });
    while (!over) passive.device.wait([] { return false; }, 10ms);
    other.join();
    EXPECT_EQ(reason, "connection to " + host(21) + ": refused: nobody listens there");
}

/// Runs a client in its own process, which is killed while it is connected. Returns "up", or the
/// error.
std::string connected_and_killed(const std::string& own, const std::string& to, End& passive,
                                 Listener& listener) {
    int told[2];
    if (::pipe(told) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        const auto device = Device::open({.address = own, .path_mtu = 1024});
        if (!device) ::_exit(1);
        const ProtectionDomain domain(*device);
        CompletionQueue completions(*device, 16);
        auto pair = QueuePair::create(domain, completions, completions);
        const auto met = pair->connect(to, service, {}, patience);
        const std::string text = met ? "up" : met.error();
        const bool said =
            ::write(told[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        if (said) ::pause();
        ::_exit(1);
    }
    auto pair = QueuePair::create(passive.domain, passive.completions, passive.completions);
    std::string text = "nobody asks";
    if (auto asked = listener.wait(patience)) {
        const auto accepted = asked->accept(*pair, {}, patience);
        std::array<char, 200> heard{};
        const ssize_t got = ::read(told[0], heard.data(), heard.size());
        text = accepted ? std::string(heard.data(), got < 0 ? 0 : static_cast<std::size_t>(got))
                        : accepted.error();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(told[0]);
    ::close(told[1]);
    return text;
}

// A killed client does not disconnect. The next client runs on the same host.
TEST(Meeting, AClientThatWasKilledAndStartedAgainConnectsTheFirstTime) {
    const std::string own = host(22);  // computed before the fork
    End passive(21, 1024, {});
    auto listener = Listener::open(passive.device, service);
    ASSERT_TRUE(listener);
    for (int life = 0; life < 3; ++life) {
        EXPECT_EQ(connected_and_killed(own, host(21), passive, *listener), "up") << life;
        EXPECT_FALSE(listener->poll()) << "asked once";
    }
}

// A peer must not take packets of an earlier process for packets of this device.
TEST(Meeting, EachDeviceBeginsItsNumbersElsewhere) {
    std::set<std::uint32_t> numbers;
    for (unsigned i = 0; i < 4; ++i) {
        const End end(23, 1024, {});
        const std::uint32_t number = end.pair.number();
        EXPECT_GE(number, 2U);
        EXPECT_LT(number, 0xFFFFFFU);
        numbers.insert(number);
    }
    EXPECT_GT(numbers.size(), 1U) << "four times the same by chance: once in 2^72";
}

TEST(Meeting, AListenerThatGoesRefusesWhoWaits) {
    End passive(17, 1024, {});
    auto listener = Listener::open(passive.device, service);
    ASSERT_TRUE(listener);
    std::string reason;
    std::atomic<bool> over = false;
    std::thread other([&] {
        End active(18, 1024, {});
        const auto met = active.pair.connect(host(17), service, {}, patience);
        if (!met) reason = met.error();
        over = true;
    });
    // The request has arrived by then, or will find no listener.
    passive.device.wait([] { return false; }, 100ms);
    listener = Listener::open(passive.device, service_of_port(2));
    // A flag of another thread does not wake a device, so the wait is short.
    while (!over) passive.device.wait([] { return false; }, 10ms);
    other.join();
    EXPECT_EQ(reason, "connection to " + host(17) + ": refused: nobody listens there");
}

}  // namespace
}  // namespace wireproof::ib::test
