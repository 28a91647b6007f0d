// For tests: two sides of communication management. The test moves the datagrams between them.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "wireproof/proto/ib/cm/connection_management.hpp"

namespace wireproof::proto::ib::test {

using What = CmEvent::What;

constexpr PeerId left{4};   // the number of the left side at the right side
constexpr PeerId right{9};  // the number of the right side at the left side
constexpr std::uint64_t service = service_of_port(7174);
constexpr ConnectionManagement::Config of_left{.ca_guid = 1, .first_id = 0x1000};
constexpr ConnectionManagement::Config of_right{.ca_guid = 2, .first_id = 0x2000};

template <std::size_t Size>
PrivateBytes<Size> bytes(unsigned seed) {
    PrivateBytes<Size> bytes{};
    for (std::size_t i = 0; i < Size; ++i) bytes[i] = std::byte(seed + i);
    return bytes;
}

struct Side {
    explicit Side(const ConnectionManagement::Config& config) : cm(config) {}

    std::vector<CmEvent> events() {
        std::vector<CmEvent> all;
        while (auto event = cm.next_event()) all.push_back(std::move(*event));
        return all;
    }
    /// Returns the only event. Another number of events or another kind is a failure.
    CmEvent event(What what) {
        const auto all = events();
        EXPECT_EQ(all.size(), 1U);
        if (all.empty()) return {};
        EXPECT_EQ(all[0].what, what);
        return all[0];
    }
    bool silent() { return events().empty(); }

    ConnectionManagement cm;
};

class Sides : public testing::Test {
protected:
    /// Moves the datagrams of both sides until none waits, and returns the names of all. Loses the
    /// datagrams named in `lose`, each once.
    std::string carry() {
        std::string names;
        while (a.cm.has_outgoing() || b.cm.has_outgoing()) {
            names += carry_one(a.cm, b.cm, left);
            names += carry_one(b.cm, a.cm, right);
        }
        return names;
    }
    std::string carry_one(ConnectionManagement& from, ConnectionManagement& to, PeerId as) {
        const auto one = from.poll_transmit();
        if (!one) return "";
        EXPECT_EQ(one->to, as == left ? right : left);
        const std::string name(name_of(one->datagram.message));
        const auto lost = lose.find(" " + name);
        if (lost != std::string::npos) {
            lose.erase(lost, 1 + name.size());
            return "(" + name + ") ";
        }
        std::array<std::byte, cm_datagram_size> bytes{};
        one->datagram.encode(bytes);
        last_verdict = to.on_datagram(now, as, bytes);
        return name + " ";
    }
    /// Advances the time to the next deadline of either side.
    void wait() {
        now = earliest(a.cm.next_deadline(), b.cm.next_deadline());
        ASSERT_NE(now, never);
        a.cm.on_deadline(now);
        b.cm.on_deadline(now);
    }

    /// Nothing reaches the other side, and the time passes until this side has sent again often.
    /// Returns what it sent, and expects that it tells its user nothing.
    std::set<std::string> sent_in_vain(Side& side) {
        std::set<std::string> sent;
        for (int i = 0; i < 1'000; ++i) {
            while (const auto one = side.cm.poll_transmit()) {
                sent.emplace(name_of(one->datagram.message));
            }
            now = side.cm.next_deadline();
            side.cm.on_deadline(now);
            EXPECT_TRUE(side.silent()) << i;
        }
        return sent;
    }

    CmId ask(std::uint32_t queue_pair = 0x11) {
        const auto id = a.cm.connect(now, right,
                                     {.service = service,
                                      .queue_pair = queue_pair,
                                      .starting_psn = Psn(7),
                                      .private_bytes = bytes<92>(1)});
        EXPECT_TRUE(id);
        return id.value_or(CmId{});
    }
    void accept(CmId id) {
        EXPECT_TRUE(b.cm.accept(now, id, {.queue_pair = 0x22, .private_bytes = bytes<196>(2)}));
    }
    /// Connects both sides.
    void connect() {
        b.cm.listen(service);
        here = ask();
        carry();
        there = b.event(What::requested).id;
        accept(there);
        carry();
        a.event(What::replied);
        ASSERT_TRUE(a.cm.confirm(now, here));
        carry();
        b.event(What::established);
    }

    Instant now{};
    Side a{of_left};
    Side b{of_right};
    CmId here{};
    CmId there{};
    std::string lose;  // names, each after a space
    RxVerdict last_verdict = RxVerdict::accepted;
};

}  // namespace wireproof::proto::ib::test
