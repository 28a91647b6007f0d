// The table of hosts: a device goes on hearing new hosts, however many it has met.
#include <gtest/gtest.h>

#include <thread>

#include "wireproof/front/verbs/device/device.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/wire/udp/rocev2_test_kit.hpp"

namespace wireproof::verbs::hosts_test {
namespace {

namespace ib = proto::ib;
using wireproof::test::own_host;
using wireproof::test::Stranger;

/// Hosts of the loopback network that no test names in full.
Address host_number(std::size_t number) {
    Address address{.family = Address::Family::ipv4, .port = rocev2_port};
    address.host = {127, static_cast<std::uint8_t>(64 + number / 65536),
                    static_cast<std::uint8_t>(number / 256), static_cast<std::uint8_t>(number)};
    return address;
}

std::shared_ptr<Device> device_at(unsigned last) {
    Address address = own_host(last);
    address.port = rocev2_port;
    auto device = Device::open({.address = address});
    WIREPROOF_CHECK(device.has_value());
    return *device;
}

/// One packet of each host, with a right ICRC. No queue pair takes it. The device looks at its
/// socket all the time, so that the socket's buffer loses none.
void flood(Device& device, std::size_t hosts) {
    Device::PolledQueue queue;
    for (std::size_t number = 0; number < hosts; ++number) {
        Address from = host_number(number);
        from.port = 0;  // another test may send from this host at the same time
        Stranger one(from);
        const auto packet = wireproof::test::packet_of(64, number);
        one.send(device.address(), one.with_icrc(device.address(), packet));
        device.polling(queue, [](ib::Port&) { return 1; });
    }
}

/// Notes what becomes of one request for a connection.
class Asker : public Device::ConnectionHearer {
public:
    void on_event(Instant, ib::ConnectionManagement&, const ib::CmEvent& event) override {
        what_ = event.what;
    }
    void on_deadline(Instant, ib::ConnectionManagement&) override {}
    void on_peer_end(Instant, PeerId) override {}
    Instant next_deadline() const override { return never; }

    /// Empty: no answer came. The management gives up after a minute, so the loop ends.
    std::optional<ib::CmEvent::What> ask(Device& from, const Address& to) {
        what_.reset();
        from.hear_connections(*this);
        from.managing([&](Instant now, ib::ConnectionManagement& management) {
            const auto peer = from.find_peer(to);
            EXPECT_TRUE(peer);
            EXPECT_TRUE(peer && management.connect(now, *peer, {.service = 1}));
            return 0;
        });
        Device::PolledQueue queue;
        std::optional<ib::CmEvent::What> told;
        while (!told) {
            from.polling(queue, [&](ib::Port&) {
                told = what_;
                return 1;
            });
            std::this_thread::yield();
        }
        from.forget_connections(*this);
        return told;
    }

private:
    std::optional<ib::CmEvent::What> what_;
};

TEST(VerbsHosts, ADeviceThatMetTwiceAsManyStrangersAsItKnowsAnswersTheNext) {
    const auto device = device_at(1);
    flood(*device, 2 * limits::strangers);
    device->start_keeper();
    // No program listens there, so the answer is a rejection.
    EXPECT_EQ(Asker().ask(*device_at(2), device->address()), ib::CmEvent::What::rejected);
}

TEST(VerbsHosts, AHostThatTheProgramNamesKeepsItsNumberWhateverComes) {
    const auto device = device_at(1);
    const Address named = own_host(9);
    const auto peer = device->hold(named);
    ASSERT_TRUE(peer);
    flood(*device, limits::strangers + 300);
    EXPECT_EQ(device->hold(named), peer);
    EXPECT_EQ(device->address_of(*peer).host, named.host);
}

TEST(VerbsHosts, AProgramMayNameMoreHostsThanItUsesAtATime) {
    const auto device = device_at(1);
    for (std::size_t number = 0; number < limits::hosts + 100; ++number) {
        const auto peer = device->hold(host_number(number));
        ASSERT_TRUE(peer) << number;
        device->release(*peer);
    }
}

// Strangers take none of the places of named hosts, and the reverse.
TEST(VerbsHosts, AsManyHostsAsTheLimitSaysMayBeInUseBesideStrangers) {
    const auto device = device_at(1);
    flood(*device, 100);
    std::vector<PeerId> held;
    for (std::size_t number = 0; number < limits::hosts; ++number) {
        const auto peer = device->hold(host_number(number));
        ASSERT_TRUE(peer) << number;
        held.push_back(*peer);
    }
    EXPECT_FALSE(device->hold(host_number(limits::hosts)));
    device->start_keeper();
    EXPECT_EQ(Asker().ask(*device_at(2), device->address()), ib::CmEvent::What::rejected);
    device->release(held.front());
    EXPECT_TRUE(device->hold(host_number(limits::hosts)));
    EXPECT_FALSE(device->hold(host_number(0)));
}

TEST(VerbsHosts, AHeldHostMayBeReleasedByEachWhoHoldsIt) {
    const auto device = device_at(1);
    const auto once = device->hold(own_host(9));
    const auto twice = device->hold(own_host(9));
    ASSERT_EQ(once, twice);
    device->release(*once);
    flood(*device, limits::strangers + 300);
    EXPECT_EQ(device->address_of(*twice).host, own_host(9).host);
}

}  // namespace
}  // namespace wireproof::verbs::hosts_test
