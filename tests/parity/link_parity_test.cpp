// Each link engine over each road. The test advances the time, so a run is determined: on all roads
// the same frames must leave, byte for byte, and the same messages must arrive, also if a fault
// plan loses and damages frames.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "tests/parity/roads.hpp"

#include "wireproof/core/any_link.hpp"
#include "wireproof/lab/common/am_content.hpp"
#include "wireproof/lab/engines/link_engines.hpp"

namespace wireproof::parity {
namespace {

using Lines = std::vector<std::string>;
using Owned = std::vector<std::byte>;

constexpr std::size_t frame_max = 1024;       // each road carries it
constexpr std::size_t messages_of_each = 40;  // of each end

std::string to_hex(ConstBytes bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<std::size_t>(byte) >> 4];
        text += digits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

/// What happened, one event a line.
struct LinkTranscript {
    Lines lines;
    std::uint64_t faults = 0;
    std::uint64_t resent = 0;
    bool all = false;
};

/// Two ends of an engine on a road. The plan decides about each frame before the road gets it, so
/// faults are the same on each road, and the road must deliver what it gets.
template <class Road>
class Run {
public:
    using Make = Expected<AnyLink> (*)(std::size_t frame_max, std::uint64_t seed);

    Run(Make make, bool may_lose, const FaultRates& rates, std::uint64_t seed)
        : may_lose_(may_lose),
          ends_{End(made(make, 2 * seed), FaultPlan(rates, 2 * seed)),
                End(made(make, 2 * seed + 1), FaultPlan(rates, 2 * seed + 1))} {
        for (std::size_t node = 0; node < 2; ++node) {
            const std::size_t longest = std::min<std::size_t>(ends_[node].link.message_max(), 300);
            Random random(mix64(seed) + node);
            for (std::size_t i = 0; i < messages_of_each; ++i) {
                Owned message(random.below(longest + 1));
                lab::Content(mix64(seed + node) + i).write(message);
                ends_[node].messages.push_back(std::move(message));
            }
        }
    }

    LinkTranscript run() {
        for (int turns = 0; turns < 20'000 && !testing::Test::HasFatalFailure(); ++turns) {
            bool moved = false;
            for (std::size_t node = 0; node < 2; ++node) moved = send(node) || moved;
            for (std::size_t node = 0; node < 2; ++node) moved = take(node) || moved;
            if (done() && !moved) break;
            const Instant next =
                earliest(ends_[0].link.next_deadline(), ends_[1].link.next_deadline());
            if (!moved && next == never) break;
            now_ = moved ? now_ + Duration::microseconds(10) : std::max(now_, next);
        }
        transcript_.all = done();
        for (End& end : ends_) {
            transcript_.faults += end.plan.counts().lost + end.plan.counts().damaged;
            transcript_.resent += end.link.stats().resent;
        }
        return transcript_;
    }

private:
    struct End {
        End(AnyLink made, FaultPlan faults) : link(std::move(made)), plan(std::move(faults)) {}
        AnyLink link;
        FaultPlan plan;
        std::vector<Owned> messages;
        std::size_t submitted = 0;
        std::vector<Owned> got;
        std::deque<Owned> arrived;
        bool up = false;
    };

    static AnyLink made(Make make, std::uint64_t seed) {
        auto link = make(frame_max, seed);
        WIREPROOF_CHECK(link.has_value());
        return std::move(*link);
    }

    bool done() const {
        for (std::size_t node = 0; node < 2; ++node) {
            if (ends_[1 - node].got != ends_[node].messages) return false;
        }
        return true;
    }

    void note(std::size_t node, const std::string& what) {
        transcript_.lines.push_back(std::to_string(now_.since_start().nanoseconds()) + " " +
                                    std::to_string(node) + " " + what);
    }

    bool send(std::size_t node) {
        End& end = ends_[node];
        while (end.up && end.submitted < end.messages.size() &&
               end.link.submit(end.messages[end.submitted]) == SubmitStatus::accepted) {
            ++end.submitted;
        }
        bool any = false;
        std::array<std::byte, frame_max> room;
        std::array<std::byte, frame_max> whole;
        for (;; any = true) {
            TxFrame out;
            out.open(room, {.frame_max = room.size()});
            if (!end.link.poll_transmit(now_, out)) return any;
            const Bytes frame = out.gather(whole);
            const Fate fate = end.plan.decide({.kind = {}, .length = frame.size()});
            note(node, (fate.lost      ? "loses "
                        : fate.damaged ? "damages "
                                       : "sends ") +
                           to_hex(frame));
            if (fate.damaged) end.plan.damage(frame, fate.intact_front);
            if (!fate.lost) carry(node, frame);
            // A wire for engines that count frames tells each missing one.
            if (fate.lost && !may_lose_) ends_[1 - node].arrived.emplace_back();
        }
    }

    // The frame crosses the road before the next one leaves, and waits for the end's turn.
    void carry(std::size_t node, ConstBytes frame) {
        auto& wire = road_.wire(node);
        TxFrame* const room = wire.lane(road_.peer(node)).claim();
        ASSERT_NE(room, nullptr);
        const Bytes to = room->add_room(frame.size());
        std::copy(frame.begin(), frame.end(), to.begin());
        wire.lane(road_.peer(node)).commit();
        wire.flush(road_.now());
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
        while (std::chrono::steady_clock::now() < end) {
            if (const auto received = road_.wire(1 - node).receive(road_.now())) {
                ASSERT_TRUE(received->lent.empty());
                ends_[1 - node].arrived.emplace_back(received->bytes.begin(),
                                                     received->bytes.end());
                return;
            }
            road_.rest();
        }
        FAIL() << "the road has lost a frame";
    }

    bool take(std::size_t node) {
        End& end = ends_[node];
        for (; !end.arrived.empty(); end.arrived.pop_front()) {
            const RxVerdict verdict = end.link.on_frame(
                now_, RxFrame{.bytes = end.arrived.front(),
                              .integrity = end.arrived.front().empty() ? Integrity::damaged
                                                                       : Integrity::check,
                              .lent = {}});
            note(node, "finds " + std::string(name_of(verdict)));
            draw(node);
        }
        if (end.link.next_deadline() > now_) return false;
        end.link.on_deadline(now_);
        note(node, "has a deadline");
        draw(node);
        return true;
    }

    void draw(std::size_t node) {
        End& end = ends_[node];
        while (const auto delivery = end.link.next_delivery()) {
            switch (delivery->what) {
                case LinkDelivery::What::up: end.up = true; break;
                case LinkDelivery::What::down: end.up = false; break;
                case LinkDelivery::What::message:
                    end.got.emplace_back(delivery->bytes.begin(), delivery->bytes.end());
                    break;
            }
            note(node, "delivers " + std::to_string(static_cast<int>(delivery->what)) + " " +
                           to_hex(delivery->bytes));
        }
    }

    Road road_;
    bool may_lose_;
    std::array<End, 2> ends_;
    Instant now_{Duration::milliseconds(1)};
    LinkTranscript transcript_;
};

template <class Road>
class LinkParity : public testing::Test {};
using LinkRoads = testing::Types<MemoryRoad, UdpRoad, ShmRoad>;
TYPED_TEST_SUITE(LinkParity, LinkRoads, RoadNames);

template <class Road>
void expect_as_simulated(const FaultRates& rates, std::uint64_t seed) {
    lab::LinkEngines::for_each([&]<class Adapter>() {
        SCOPED_TRACE(Adapter::name);
        const LinkTranscript simulated =
            Run<SimulatedCable>(Adapter::over_datagrams, Adapter::may_lose, rates, seed).run();
        const LinkTranscript live =
            Run<Road>(Adapter::over_datagrams, Adapter::may_lose, rates, seed).run();
        EXPECT_TRUE(simulated.all) << "messages are missing";
        const bool faulty = rates.loss > 0;
        EXPECT_EQ(simulated.faults > 20, faulty);
        EXPECT_EQ(simulated.resent > 0, faulty);
        ASSERT_GT(simulated.lines.size(), 4 * messages_of_each);
        ASSERT_EQ(live.lines.size(), simulated.lines.size());
        for (std::size_t i = 0; i < live.lines.size(); ++i) {
            ASSERT_EQ(live.lines[i], simulated.lines[i]) << "line " << i;
        }
    });
}

// PCIE-39, HIPPI-37, LLR-30
TYPED_TEST(LinkParity, EachEngineDoesTheSameAsOnTheSimulatedCable) {
    expect_as_simulated<TypeParam>({}, 1);
}

TYPED_TEST(LinkParity, EachEngineRepairsTheSameFaultsInTheSameWay) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        expect_as_simulated<TypeParam>({.loss = 0.08, .bit_error = 1e-4}, seed);
        if (this->HasFailure()) FAIL() << "seed " << seed;
    }
}

}  // namespace
}  // namespace wireproof::parity
