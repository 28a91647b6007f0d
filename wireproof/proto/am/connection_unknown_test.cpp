// A peer that was started again, or gave a session up, says so when it receives a frame of that
// session (UNKNOWN). Nobody else can.
#include <gtest/gtest.h>

#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

Config next_life(Config config) {
    config.seed += 77;
    return config;
}

/// a has a session with b; `next.b` is another life of b that does not know it.
struct Anew {
    explicit Anew(const Config& config) : pair(config), next(next_life(config)) {
        requests(pair.a, 1);
        pair.settle();
        pair.a.take_log();
        pair.b.take_log();
    }

    /// Gives the frames that a sends now to the new life.
    Frames say(std::uint32_t value) {
        requests(pair.a, 1, value);
        return pair.a.take(pair.now);
    }
    Frames heard(const Frames& frames) {
        for (const Frame& frame : frames) EXPECT_EQ(next.b.give(pair.now, frame.bytes), foreign);
        return next.b.take(pair.now);
    }
    void settle() {
        for (std::size_t moved = 1; moved > 0;) {
            const Frames out = pair.a.take(pair.now);
            for (const Frame& frame : out) next.b.give(pair.now, frame.bytes);
            const Frames in = next.b.take(pair.now);
            pair.give(pair.a, in);
            moved = out.size() + in.size();
        }
    }

    Pair pair;
    Pair next;  // only its b is used
};

// AM-49
TEST(AmUnknown, ARestartedPeerAnswersAFrameOfTheOldSession) {
    for (const Config& base : all()) {
        Anew world(meeting(base));
        const Frames frames = world.say(7);
        const Frames answer = world.heard(frames);
        ASSERT_EQ(world.pair.text(answer), "UNKNOWN 0");
        EXPECT_LE(answer[0].bytes.size(), frames[0].bytes.size());
        EXPECT_EQ(answer[0].bytes.size(), world.pair.config.header_size());
        EXPECT_EQ(answer[0].header.cookie, frames[0].header.cookie);
        EXPECT_EQ(world.pair.give(world.pair.a, answer), Verdicts{control});
        EXPECT_EQ(world.pair.a.take_log(),
                  (Log{"FATE REQ 1(0)", "FATE REQ 1(7)", "ENDED restarted"}));
        requests(world.pair.a, 1, 8);
        world.settle();
        EXPECT_EQ(world.next.b.take_log(), (Log{"BEGAN", "REQ 1(8)"}));
    }
}

// AM-49, AM-50: so does a life that has given the session up.
TEST(AmUnknown, APeerThatGaveTheSessionUpSaysSo) {
    for (const Config& config : all_small()) {
        Pair pair(meeting(config));
        requests(pair.a, 1);
        pair.settle();
        pair.b.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.b.draw();
        pair.a.take_log();
        requests(pair.a, 1, 5);
        EXPECT_EQ(pair.give(pair.b, pair.a.take(pair.now)), Verdicts{foreign});
        EXPECT_EQ(pair.carry(pair.b), "UNKNOWN 0");
        EXPECT_EQ(pair.a.log.back(), "ENDED restarted");
    }
}

// AM-50: a life that gave the session up says why, at once if the peer still answers.
TEST(AmUnknown, ThePeerLearnsWhyTheSessionEnded) {
    for (const Config& base : all()) {
        Config config = meeting(base);
        config.resend_limit = 4;
        config.give_up_after(Duration::milliseconds(200));
        Pair pair(config);
        requests(pair.a, 1);
        pair.settle();
        pair.a.take_log();
        pair.b.take_log();
        const std::size_t longest = config.header_size();
        const auto turn = [&](bool heard) {
            for (const Frame& frame : pair.a.take(pair.now)) {
                if (heard && frame.bytes.size() <= longest) pair.give(pair.b, frame);
            }
            pair.give(pair.a, pair.b.take(pair.now));
        };
        requests(pair.a, 1, 5);
        for (int i = 0; i < 2000 && pair.b.log.empty(); ++i) {
            turn(true);
            if (pair.a.log.empty()) pair.wait_for_timer();
        }
        const std::string size = std::to_string(longest + 4);
        EXPECT_EQ(pair.a.take_log().back(), "ENDED unanswered " + size);
        EXPECT_EQ(pair.b.take_log(), Log{"ENDED unanswered " + size + " by peer"});

        // If the reason is silence, it says so when the peer sends a frame.
        Pair silent(config);
        requests(silent.a, 1);
        silent.settle();
        silent.a.take_log();
        requests(silent.a, 1, 5);
        for (int i = 0; i < 2000 && silent.a.log.empty(); ++i) {
            (void)silent.a.take(silent.now);
            silent.wait_for_timer();
        }
        EXPECT_EQ(silent.a.take_log().back(), "ENDED silent");
        silent.b.take_log();
        requests(silent.b, 1, 6);
        silent.give(silent.a, silent.b.take(silent.now));
        EXPECT_EQ(silent.carry(silent.a), "UNKNOWN 0");
        EXPECT_EQ(silent.b.take_log().back(), "ENDED silent by peer");
    }
}

// AM-49: few enough to flood nobody, and never more bytes than arrived.
TEST(AmUnknown, IsSaidAtMostOnceASecond) {
    for (const Config& config : all_small()) {
        Anew world(meeting(config));
        const Frames frames = world.say(7);
        std::size_t said = 0;
        for (int i = 0; i < 3500; ++i) {
            said += world.heard(frames).size();
            world.pair.now = world.pair.now + Duration::milliseconds(1);
        }
        EXPECT_EQ(said, 4U);
    }
}

// AM-49
TEST(AmUnknown, IsNotSaidToAnotherJob) {
    for (const Config& base : all_small()) {
        for (std::uint64_t job = 1; job < 200; ++job) {
            Config config = meeting(base);
            Anew world(config);
            config.job = job;
            Pair other(config);
            requests(other.b, 1);
            EXPECT_EQ(other.b.give(other.now, world.say(7)[0].bytes), foreign);
            EXPECT_EQ(other.taken(other.b), "HELLO 1");  // its own
        }
    }
}

// AM-49: an answer is never answered, wherever it arrives.
TEST(AmUnknown, IsNeverAnswered) {
    for (const Config& config : all_small()) {
        Anew world(meeting(config));
        const Frame answer = world.heard(world.say(7)).at(0);
        Pair third(next_life(next_life(world.pair.config)));  // a life of a that never met b
        EXPECT_EQ(third.a.give(third.now, answer.bytes), foreign);
        EXPECT_EQ(third.taken(third.a), "");
        // Back to its sender, unchanged, and as if it came from the other node.
        Frame back = answer;
        EXPECT_EQ(world.next.b.give(world.pair.now, back.bytes), foreign);
        back = world.pair.forged(back, [](Header& h) { std::swap(h.dst, h.src); });
        world.pair.now = world.pair.now + Duration::milliseconds(5'000);
        EXPECT_EQ(world.next.b.give(world.pair.now, back.bytes), foreign);
        EXPECT_EQ(world.next.b.take(world.pair.now).size(), 0U);
    }
}

// AM-49: of another session, without the proof, longer than a header, or from another node.
TEST(AmUnknown, IsBelievedOnlyOfTheOwnSession) {
    for (const Config& base : all()) {
        Anew world(meeting(base));
        Pair& pair = world.pair;
        const Frame answer = world.heard(world.say(7)).at(0);
        const auto forge = [&](const std::function<void(Header&)>& change) {
            return pair.give(pair.a, pair.forged(answer, change));
        };
        EXPECT_EQ(forge([](Header& h) { h.cookie ^= 1; }), foreign);
        EXPECT_EQ(forge([](Header& h) { h.offset ^= 1; }), foreign);
        EXPECT_EQ(forge([](Header& h) { h.offset = 0; }), foreign);
        EXPECT_EQ(forge([](Header& h) { h.src = 5; }), foreign);
        Frame longer = answer;
        longer.bytes.resize(longer.bytes.size() + 8);
        EXPECT_EQ(pair.give(pair.a, pair.sealed(longer)), malformed);
        EXPECT_EQ(pair.a.log, Log{});
        EXPECT_TRUE(pair.a.engine.established());
        // In time, it is; not after the next session has begun.
        EXPECT_EQ(pair.give(pair.a, answer), control);
        EXPECT_EQ(pair.a.take_log().back(), "ENDED restarted");
        requests(pair.a, 1, 8);
        world.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"BEGAN"});
        EXPECT_EQ(pair.give(pair.a, answer), foreign);
        EXPECT_EQ(pair.a.log, Log{});
    }
}

TEST(AmUnknown, ALaunchersSessionIsTheOnlyOneAndNobodySaysSo) {
    for (const Config& config : all()) {
        Pair pair(config);
        Config other = pair.config;
        other.cookie = *other.cookie ^ 1;
        Pair stranger(other);
        requests(stranger.a, 1);
        EXPECT_EQ(pair.give(pair.b, stranger.a.take(pair.now)), Verdicts{foreign});
        EXPECT_EQ(pair.taken(pair.b), "");
    }
}

// AM-49: a HELLO of a dead life arrives between the two HELLOs of a handshake. It does not prevent
// the session.
TEST(AmUnknown, ALateHelloAmidAHandshakeEndsNothing) {
    for (const bool restarted : {false, true}) {
        for (const Config& base : all()) {
            const Config config = meeting(base);
            Pair dead(next_life(config));
            requests(dead.a, 1);
            const Frames late = dead.a.take(dead.now);
            ASSERT_EQ(dead.text(late), "HELLO 1");
            Anew world(config);
            Node& a = restarted ? world.next.a : world.pair.a;
            Pair fresh(config);
            Node& b = restarted ? world.pair.b : fresh.b;
            Node& from = restarted ? a : fresh.a;
            // `from` meets b, which has another session or none.
            Instant now = world.pair.now;
            requests(from, 1, 3);
            for (const Frame& frame : from.take(now)) b.give(now, frame.bytes);
            for (const Frame& frame : b.take(now)) from.give(now, frame.bytes);
            EXPECT_TRUE(from.engine.established());
            b.give(now, late[0].bytes);
            b.take(now);  // an answer to the dead life
            Frames frames = from.take(now);
            ASSERT_EQ(fresh.text(frames), "HELLO 0 | REQ 0");
            // The replacement of a session is delivered before anything of the new one is accepted.
            EXPECT_EQ(b.give(now, frames[1].bytes), restarted ? refused : accepted);
            EXPECT_EQ(b.take(now).size(), 0U);
            EXPECT_EQ(from.log, Log{"BEGAN"});
            EXPECT_EQ(b.take_log().back(), restarted ? "BEGAN" : "REQ 1(3)");
            EXPECT_TRUE(b.engine.established());
        }
    }
}

// A session ends only if the peer gave a reason: lives follow one another on a wire that loses,
// duplicates, delays and reorders frames, and repeats old frames of dead lives.
class Lives {
public:
    Lives(const Config& config, std::uint64_t seed) : config_(config), random_(seed) {
        for (std::size_t i = 0; i < 2; ++i) begin(i);
    }

    void turn() {
        now_ = now_ + Duration::microseconds(random_.chance(0.1) ? 3'000 : 20);
        for (std::size_t i = 0; i < 2; ++i) {
            Node& node = *nodes_[i];
            if (random_.chance(0.3)) requests(node, 1);
            if (node.engine.next_deadline() <= now_) node.engine.on_deadline(now_);
            node.draw();
            for (Frame& frame : node.take(now_)) {
                if (frame.header.kind == Kind::unknown) ++unknown_;
                keep(1 - i, std::move(frame));
            }
            hear(i);
            node.draw();
            read(i);
        }
        // Silence is no reason here: it is never long enough.
        if (lives_ < 6 && random_.chance(0.002)) begin(random_.below(2));
    }

    /// A wire without loss and no new lives: both ends get one session and its messages.
    void settle() {
        for (auto& frames : pool_) frames.clear();
        for (const auto& node : nodes_) {
            node->draw();
            requests(*node, 1);  // unless others fill its window
        }
        for (int turns = 0; turns < 20'000; ++turns) {
            now_ = now_ + Duration::microseconds(100);
            for (std::size_t i = 0; i < 2; ++i) {
                Node& node = *nodes_[i];
                if (node.engine.next_deadline() <= now_) node.engine.on_deadline(now_);
                node.draw();
                for (const Frame& frame : node.take(now_)) {
                    nodes_[1 - i]->give(now_, frame.bytes);
                }
                read(i);
            }
            if (nodes_[0]->engine.idle() && nodes_[1]->engine.idle()) return;
        }
        ADD_FAILURE() << "never idle";
    }

    std::size_t unknown() const { return unknown_; }

private:
    void begin(std::size_t i) {
        Config config = config_;
        config.peer_timeout = Duration::milliseconds(60'000);
        if (i == 1) config = Pair::mirrored(config);
        config.seed = 1000 * ++lives_ + random_.below(100);
        // A peer that had a session with that life may find this out once; the new life has none.
        if (nodes_[i] != nullptr) ++anew_[1 - i];
        anew_[i] = 0;
        nodes_[i] = std::make_unique<Node>(config, 100);
    }

    void keep(std::size_t to, Frame frame) {
        if (random_.chance(0.1)) return;
        if (old_.size() < 4'000 && random_.chance(0.2)) old_.push_back({to, frame});
        pool_[to].push_back(std::move(frame));
    }

    void hear(std::size_t i) {
        auto& frames = pool_[i];
        while (!frames.empty() && random_.chance(0.8)) {
            const std::size_t at = random_.chance(0.2) ? random_.below(frames.size()) : 0;
            nodes_[i]->give(now_, frames[at].bytes);
            if (random_.chance(0.1)) continue;  // and once more
            frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(at));
        }
        // An old frame; HELLOs and answers might do harm.
        if (old_.empty() || !random_.chance(0.05)) return;
        const auto& [to, frame] = old_[random_.below(old_.size())];
        nodes_[to]->give(now_, frame.bytes);
    }

    void read(std::size_t i) {
        for (const std::string& line : nodes_[i]->take_log()) {
            if (!line.starts_with("ENDED")) continue;
            EXPECT_EQ(line, "ENDED restarted");
            EXPECT_GT(anew_[i], 0) << "a session ended, and the peer had not begun anew";
            --anew_[i];
        }
    }

    Config config_;
    Random random_;
    Instant now_{Duration::milliseconds(1)};
    std::uint64_t lives_ = 0;
    std::size_t unknown_ = 0;
    std::array<std::unique_ptr<Node>, 2> nodes_;
    std::array<int, 2> anew_{};  // lives of the peer that may still be found out
    std::array<std::vector<Frame>, 2> pool_;
    std::vector<std::pair<std::size_t, Frame>> old_;
};

// AM-49
TEST(AmUnknown, NoSessionEndsUnlessThePeerBeganAnew) {
    for (const Config& config : selective().with(small)) {
        std::size_t unknown = 0;
        for (std::uint64_t seed = 1; seed <= cases(60); ++seed) {
            SCOPED_TRACE(seed);
            Lives lives(meeting(config), seed);
            for (int i = 0; i < 1'500; ++i) lives.turn();
            lives.settle();
            unknown += lives.unknown();
            if (HasFailure()) return;
        }
        EXPECT_GT(unknown, cases(100));
    }
}

}  // namespace
}  // namespace wireproof::am::test
