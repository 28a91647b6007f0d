// Jobs of forked nodes over shared memory. All pairs exchange frames. Some nodes start late, some
// are killed and start again, and all sleep when they have no work. The exit status of a child says
// whether its part succeeded.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof {
namespace {

/// They only end tests that hang.
constexpr Duration patience = Duration::milliseconds(240'000);

std::string unique_name() {
    static int count = 0;
    return "processes-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// A child that runs `body`; it dies with this process.
class Child {
public:
    explicit Child(const std::function<bool()>& body) : pid_(::fork()) {
        if (pid_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::alarm(280);  // ends a child that hangs
        ::_exit(body() ? 0 : 1);
    }
    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Child& operator=(Child&&) = delete;
    ~Child() {
        if (pid_ > 0) kill();
    }

    pid_t pid() const { return pid_; }
    void kill() {
        ::kill(pid_, SIGKILL);
        ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }
    bool succeeded() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

private:
    pid_t pid_;
};

/// Children report here that they have reached a point. There they may wait for the parent.
class Gate {
public:
    Gate() { WIREPROOF_CHECK(::pipe(arrivals_.data()) == 0 && ::pipe(release_.data()) == 0); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() {
        for (const int end : arrivals_) ::close(end);
        for (const int end : release_) ::close(end);
    }

    void arrive() {
        const char one = 1;
        WIREPROOF_CHECK(::write(arrivals_[1], &one, 1) == 1);
    }
    void wait_for_release() {
        char one = 0;
        WIREPROOF_CHECK(::read(release_[0], &one, 1) == 1);
    }

    void wait_for(std::size_t children) {
        char one = 0;
        for (; children > 0; --children) {
            WIREPROOF_CHECK(::read(arrivals_[0], &one, 1) == 1);
            ++waiting_;
        }
    }
    void release() {
        const char one = 1;
        for (; waiting_ > 0; --waiting_) WIREPROOF_CHECK(::write(release_[1], &one, 1) == 1);
    }

private:
    std::array<int, 2> arrivals_{};
    std::array<int, 2> release_{};
    std::size_t waiting_ = 0;
};

/// A node that sleeps while it has no work.
class Node {
public:
    explicit Node(const ShmWire::Config& config) : nodes_(config.nodes), self_(config.node) {
        auto wire = ShmWire::open(config);
        WIREPROOF_CHECK(wire.has_value());
        shm_ = std::make_unique<ShmWire>(std::move(*wire));
        wire_.emplace(std::ref(*shm_));
    }

    std::size_t nodes() const { return nodes_; }
    std::size_t self() const { return self_; }
    ShmWire& shm() { return *shm_; }
    Instant now() const { return clock_.now(); }

    std::optional<RxFrame> receive() { return shm_->receive(clock_.now()); }
    bool send(std::size_t to, std::uint64_t number, std::size_t size) {
        ShmLane& lane = shm_->lane(static_cast<PeerId>(to));
        TxFrame* const frame = lane.claim();
        if (frame == nullptr) return false;
        store_le<std::uint64_t>(frame->add_header<8>(), number);
        const Bytes rest = frame->add_room(size - 8);
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = static_cast<std::byte>(number + i);
        lane.commit();
        return true;
    }
    static bool whole(const RxFrame& frame, std::uint64_t number, std::size_t size) {
        if (frame.bytes.size() != size) return false;
        if (load_le<std::uint64_t>(frame.bytes.first<8>()) != number) return false;
        for (std::size_t i = 0; i < size - 8; ++i) {
            if (frame.bytes[8 + i] != static_cast<std::byte>(number + i)) return false;
        }
        return true;
    }
    void flush() { shm_->flush(clock_.now()); }
    void sleep(Duration at_most = Duration::milliseconds(100)) {
        host::wait_until(*wire_, clock_, clock_.now() + at_most);
    }

    template <class Done>
    bool until(Done&& done) {
        const Instant end = clock_.now() + patience;
        while (!done()) {
            if (clock_.now() > end) return false;
            sleep();
        }
        return true;
    }

private:
    host::SteadyClock clock_;
    std::size_t nodes_;
    std::size_t self_;
    std::unique_ptr<ShmWire> shm_;
    std::optional<host::AnyWire> wire_;
};

std::size_t size_of(std::size_t from, std::size_t to, std::uint64_t number) {
    return 8 + mix64(number * 64 + from * 8 + to) % (number % 7 == 0 ? 900 : 60);
}

/// Sends `frames` to every other node and receives as many from each, in order and whole.
bool exchange(Node& node, std::uint64_t frames) {
    std::vector<std::uint64_t> sent(node.nodes());
    std::vector<std::uint64_t> received(node.nodes());
    bool right = true;
    const auto others_have = [&](const std::vector<std::uint64_t>& counts) {
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (i != node.self() && counts[i] != frames) return false;
        }
        return true;
    };
    return node.until([&] {
        while (const auto frame = node.receive()) {
            const auto from = static_cast<std::size_t>(frame->from);
            const std::uint64_t number = received[from]++;
            right = right && Node::whole(*frame, number, size_of(from, node.self(), number));
        }
        for (std::size_t to = 0; to < node.nodes(); ++to) {
            if (to == node.self()) continue;
            while (sent[to] < frames &&
                   node.send(to, sent[to], size_of(node.self(), to, sent[to]))) {
                ++sent[to];
            }
        }
        node.flush();
        return !right || (others_have(sent) && others_have(received));
    }) && right;
}

void run_job(const std::string& name, std::size_t nodes, std::uint64_t frames) {
    std::vector<Child> children;
    for (std::size_t i = 0; i < nodes; ++i) {
        children.emplace_back([&, i] {
            ::usleep(
                static_cast<useconds_t>(mix64(i + nodes) % 30'000));  // nodes start in any order
            Node node({.name = name, .node = i, .nodes = nodes, .frame_max = 1016, .lines = 256});
            if (!exchange(node, frames)) return false;
            return i == 0 || node.shm().counters().malformed_peers == 0;
        });
    }
    for (Child& child : children) EXPECT_TRUE(child.succeeded());
}

TEST(ShmProcesses, EightNodesExchangeWithAllOthersOnFewProcessors) {
    run_job(unique_name(), 8, 2'000);
}

TEST(ShmProcesses, NodesWithPathsLeaveNoFile) {
    const std::string folder = testing::TempDir() + unique_name();
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    run_job(folder + "/job", 3, 500);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}

TEST(ShmProcesses, NothingIsLeftInTheFolderOfSharedMemory) {
    const std::string name = unique_name();  // other programs have files there, too
    run_job(name, 2, 100);
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
        EXPECT_EQ(entry.path().string().find(name), std::string::npos);
    }
}

TEST(ShmProcesses, AKilledPeerIsGoneAfterItsLastFrameAndComesBackAsANewLife) {
    for (const std::size_t self : {0U, 1U}) {
        const std::string name = unique_name();
        Node node({.name = name, .node = self});
        const std::size_t other = 1 - self;
        for (int life = 0; life < 3; ++life) {
            Gate all_sent;
            Child child([&] {
                Node peer({.name = name, .node = other});
                std::uint64_t sent = 0;
                return peer.until([&] {
                    peer.receive();
                    const bool had_some = sent < 50;
                    while (sent < 50 && peer.send(self, sent, 30)) ++sent;
                    peer.flush();
                    if (had_some && sent == 50) all_sent.arrive();
                    return false;
                });
            });
            std::uint64_t received = 0;
            std::vector<WireEvent> events;
            const auto turn = [&] {
                while (const auto event = node.shm().next_event()) events.push_back(event->second);
                while (const auto frame = node.receive()) {
                    EXPECT_TRUE(Node::whole(*frame, received, 30));
                    EXPECT_TRUE(life == 0 || events == std::vector{WireEvent::new_life});
                    ++received;
                }
            };
            // Some of the frames are still in the ring when the peer dies.
            ASSERT_TRUE(node.until([&] {
                while (const auto event = node.shm().next_event()) events.push_back(event->second);
                return node.receive().has_value();
            }));
            received = 1;
            all_sent.wait_for(1);
            child.kill();
            ASSERT_TRUE(node.until([&] {
                turn();
                return !events.empty() && events.back() == WireEvent::peer_gone;
            }));
            EXPECT_EQ(received, 50U);
            EXPECT_EQ(events.size(), life == 0 ? 1U : 2U);
        }
    }
}

TEST(ShmProcesses, OthersGoOnWhenOneIsKilled) {
    const std::string name = unique_name();
    // The test waits for events, not for times. The fourth node dies when the others have connected
    // to it. The others end when all of them have noticed its death.
    Gate met;
    Gate seen;
    std::vector<Child> children;
    for (std::size_t i = 0; i < 3; ++i) {
        children.emplace_back([&, i] {
            Node node({.name = name, .node = i, .nodes = 4});
            bool gone = false;
            const auto draw = [&] {
                while (node.receive()) {
                }
                while (const auto event = node.shm().next_event()) {
                    gone = gone ||
                           (event->first == PeerId{3} && event->second == WireEvent::peer_gone);
                }
            };
            const bool all_met = node.until([&] {
                draw();
                for (std::size_t peer = 0; peer < 4; ++peer) {
                    if (peer != i && !node.shm().connected(static_cast<PeerId>(peer))) return false;
                }
                return true;
            });
            met.arrive();
            const bool heard = node.until([&] {
                draw();
                return gone;
            });
            const bool connected = node.shm().connected(static_cast<PeerId>((i + 1) % 3)) &&
                                   node.shm().connected(static_cast<PeerId>((i + 2) % 3)) &&
                                   node.shm().lane(static_cast<PeerId>((i + 1) % 3)).claim();
            seen.arrive();
            seen.wait_for_release();
            return all_met && heard && connected;
        });
    }
    Child doomed([&] {
        Node node({.name = name, .node = 3, .nodes = 4});
        return node.until([&] {
            node.receive();
            return false;
        });
    });
    met.wait_for(3);
    doomed.kill();
    seen.wait_for(3);
    seen.release();
    for (Child& child : children) EXPECT_TRUE(child.succeeded());
}

// A node that misses a bell sleeps until the patience of the test ends.
TEST(ShmProcesses, NoBellIsLostThoughBothSleepAtEveryMessage) {
    constexpr std::uint64_t rounds = 5'000;
    const std::string name = unique_name();
    const auto play = [&](std::size_t self) {
        Node node({.name = name, .node = self});
        const Instant end = node.now() + patience;
        std::uint64_t next = 0;
        while (next < rounds) {
            if (node.now() > end) return false;
            if (next % 2 == self) {
                if (node.send(1 - self, next, 40)) {
                    node.flush();
                    next += 1;
                    continue;
                }
                node.receive();
            } else if (const auto frame = node.receive()) {
                if (!Node::whole(*frame, next, 40)) return false;
                next += 1;
                continue;
            }
            node.sleep(patience);
        }
        return true;
    };
    Child other([&] { return play(1); });
    EXPECT_TRUE(play(0));
    EXPECT_TRUE(other.succeeded());
}

TEST(ShmProcesses, AForkedPeerAdoptsItsEndOfAPair) {
    auto sockets = ControlSocket::pair();
    ASSERT_TRUE(sockets.has_value());
    Child child([&] {
        sockets->first.close();
        auto wire = ShmWire::adopt({.node = 1}, std::move(sockets->second));
        if (!wire) return false;
        host::SteadyClock clock;
        std::vector<std::byte> memory(100'000);
        if (!wire->share(PeerId{0}, 0, memory, true, true)) return false;
        bool told = false;
        while (wire->counters().peers_gone == 0) {
            wire->flush(clock.now());
            if (const auto frame = wire->receive(clock.now())) told = !frame->bytes.empty();
        }
        return told && memory[99'999] == std::byte{5};
    });
    sockets->second.close();
    auto adopted = ShmWire::adopt({.node = 0}, std::move(sockets->first));
    ASSERT_TRUE(adopted.has_value());
    std::optional<ShmWire> wire(std::move(*adopted));
    host::SteadyClock clock;
    const Instant end = clock.now() + patience;
    std::vector<std::byte> five(100'000, std::byte{5});
    // This writes into private memory of another process.
    if (shm_test::copies_are_forbidden(child.pid())) GTEST_SKIP() << shm_test::copies_forbidden;
    bool written = false;
    while (!written && clock.now() < end) {
        EXPECT_FALSE(wire->receive(clock.now()).has_value());
        if (wire->connected(PeerId{1})) written = wire->write_memory(PeerId{1}, 0, five);
    }
    ASSERT_TRUE(written);
    EXPECT_EQ(wire->counters().private_copies, 1U);
    TxFrame* const frame = wire->lane(PeerId{1}).claim();
    ASSERT_NE(frame, nullptr);
    frame->add_header<1>();
    wire->lane(PeerId{1}).commit();
    wire->flush(clock.now());
    wire.reset();
    EXPECT_TRUE(child.succeeded());
}

TEST(ShmProcesses, AnAllocationIsReachedFromAnotherProcess) {
    const std::string name = unique_name();
    Child child([&] {
        Node node({.name = name, .node = 1});
        const auto bytes = std::vector<std::byte>(1 << 20, std::byte{3});
        return node.until([&] {
            while (node.receive()) {
            }
            return node.shm().write_memory(PeerId{0}, 0x77, bytes) && node.send(0, 1, 8) &&
                   (node.flush(), true);
        }) && node.shm().counters().mapped_copies == 1;
    });
    Node node({.name = name, .node = 0});
    const Bytes memory = *node.shm().allocate_shared(1 << 20);
    ASSERT_TRUE(node.shm().share(PeerId{1}, 0x77, memory, false, true));
    EXPECT_TRUE(node.until([&] {
        node.flush();
        return node.receive().has_value();
    }));
    EXPECT_EQ(memory[0], std::byte{3});
    EXPECT_EQ(memory[(1 << 20) - 1], std::byte{3});
    EXPECT_TRUE(child.succeeded());
}

}  // namespace
}  // namespace wireproof
