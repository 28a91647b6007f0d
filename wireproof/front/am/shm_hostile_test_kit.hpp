// A peer on shared memory that changes the control bytes of a frame while its victim looks at it.
// The victim is a Node; the peer is one too, and another thread writes into the frame that it has
// just sent. Bytes that are read twice are then different the second time.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/base/sanitizer_test_kit.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/wire/shm/shm_test_kit.hpp"

#if WIREPROOF_ADDRESS_SANITIZER
#include <sanitizer/allocator_interface.h>
#endif

namespace wireproof::am::test {

/// Bytes that this process has allocated and not freed.
inline std::size_t allocated() {
#if WIREPROOF_ADDRESS_SANITIZER
    return __sanitizer_get_current_allocated_bytes();
#else
    return ::mallinfo2().uordblks;
#endif
}

/// Changes a field of a frame and changes it back, again and again, from another thread.
class Scribbler {
public:
    /// Two aligned bytes of the frame, and what they are between one look and the next.
    struct Change {
        std::size_t at = 0;
        std::uint16_t value = 0;
    };

    Scribbler() : thread_([this] { work(); }) {}
    Scribbler(const Scribbler&) = delete;
    Scribbler& operator=(const Scribbler&) = delete;
    ~Scribbler() {
        ends_.store(true);
        thread_.join();
    }

    /// Returns when the other thread writes.
    void begin(std::byte* frame, const Change& change) {
        change_ = change;
        frame_.store(frame);
        while (!writes_.load()) std::this_thread::yield();
    }
    /// Returns when the frame is as it was, and nobody writes to it any more.
    void end() {
        frame_.store(nullptr);
        while (writes_.load()) std::this_thread::yield();
    }
    std::uint64_t changes() const { return changes_.load(); }

private:
    void work() {
        while (!ends_.load()) {
            std::byte* const frame = frame_.load();
            if (frame == nullptr) {
                std::this_thread::yield();
                continue;
            }
            const std::atomic_ref field(*reinterpret_cast<std::uint16_t*>(frame + change_.at));
            const std::uint16_t was = field.load();
            std::uint64_t times = 0;
            for (; frame_.load() == frame; ++times) {
                field.store(change_.value);
                for (std::uint64_t i = times % 32; i > 0; --i) (void)frame_.load();
                field.store(was);
                for (std::uint64_t i = times % 7; i > 0; --i) (void)frame_.load();
                writes_.store(true);
            }
            changes_.fetch_add(times);
            writes_.store(false);
        }
    }

    Change change_;
    std::atomic<std::byte*> frame_{nullptr};
    std::atomic<bool> writes_{false};
    std::atomic<bool> ends_{false};
    std::atomic<std::uint64_t> changes_{0};
    std::thread thread_;
};

/// The victim and its peer. The memory that the peer may store to lies between bytes that nobody
/// may write.
class Attack {
public:
    static constexpr std::uint16_t ask = 7;
    static constexpr std::uint16_t stored = 8;
    static constexpr std::uint64_t base = 0x10000;
    static constexpr std::size_t region = 50'000;
    static constexpr std::size_t around = 8'192;

    explicit Attack(std::uint64_t seed) : random_(seed), memory_(around + region + around, guard) {
        ShmWire::Config shm;
        shm.name = shm_test::unique_name();
        shm.maps_peers = false;  // so the bytes of stores travel in frames
        shm.lends_ring = true;
        Config config = Config::shared_memory();
        shm.frame_max = config.packet_max;
        for (std::size_t i = 0; i < 2; ++i) {
            shm.node = i;
            config.node = static_cast<std::uint16_t>(i);
            config.seed = seed * 2 + i;
            nodes_[i] = std::make_unique<Node>(host::AnyWire(shm_test::open(shm)), config, 2);
        }
        message_max_ = victim().connection(0).message_max();
        const Bytes shared = Bytes(memory_).subspan(around, region);
        EXPECT_TRUE(victim().register_memory(0, base, shared, {.get = true, .store = true}));
        victim().handle(ask, [this](const Message& message) {
            ++handled_;
            ASSERT_LE(message.bytes().size(), message_max_);
            for (const std::byte byte : message.bytes()) sum_ += static_cast<unsigned>(byte);
            if (sum_ % 2 == 0) (void)victim().reply(ask, message.bytes());
        });
        victim().handle(stored, [this, shared](const Message& message) {
            ++handled_;
            const Bytes bytes = message.memory();
            ASSERT_LE(bytes.size(), region);
            if (bytes.empty()) return;
            ASSERT_GE(bytes.data(), shared.data());
            ASSERT_LE(bytes.data() + bytes.size(), shared.data() + shared.size());
        });
        peer().handle(ask, [](const Message&) {});
        (void)peer().post(1, ask, {});
        for (int i = 0; i < 200 && !peer().connected(1); ++i) turn();
    }

    /// Some rounds. Each sends something and changes a field of its first frame.
    void run(Scribbler& scribbler, int rounds) {
        const std::size_t before = allocated();
        for (int i = 0; i < rounds && peer().connected(1); ++i) {
            const Scribbler::Change change = send_something();
            std::byte* const frame = next_frame();
            peer().poll(now_);
            scribbler.begin(frame, change);
            victim().poll(now_);
            victim().poll(now_);
            scribbler.end();
            for (int turns = random_.below(4) == 0 ? 4 : 1; turns > 0; --turns) turn();
            expect_guarded();
        }
        EXPECT_LE(allocated(), before + growth_max);
    }
    std::uint64_t handled() const { return handled_; }

    static constexpr std::size_t growth_max = 1 << 20;  // bytes, of a victim and its peer

private:
    static constexpr std::byte guard{0xA5};
    static constexpr std::size_t header = 48;

    Node& peer() { return *nodes_[0]; }
    Node& victim() { return *nodes_[1]; }
    void turn() {
        now_ = now_ + Duration::milliseconds(2);
        peer().poll(now_);
        victim().poll(now_);
    }
    /// Where the peer's next frame begins.
    std::byte* next_frame() {
        TxFrame* const room = peer().wire().as<ShmWire>()->lane(PeerId{1}).claim();
        return room == nullptr ? spare_.data() : room->add_room(header).data();
    }
    /// Returns what changes in its first frame.
    Scribbler::Change send_something() {
        switch (random_.below(5)) {
            case 0: {  // a bundle; one message becomes long, or has no handler
                const std::size_t messages = 2 + random_.below(6);
                for (std::size_t i = 0; i < messages; ++i) {
                    (void)peer().post(1, ask, ConstBytes(pattern_).first(12));
                }
                const std::size_t entry = header + random_.below(messages) * 16;
                return random_.below(2) == 0 ? Scribbler::Change{entry + 2, some_length()}
                                             : Scribbler::Change{entry, some_value()};
            }
            case 1:  // a short store at the end of the region, with more bytes than fit
                store(base + region - 1 - random_.below(64), 2'000);
                return {header + 8, static_cast<std::uint16_t>(1 + random_.below(3'000))};
            case 2:  // a long store
                store(base + random_.below(1'000), 30'000);
                return random_.below(2) == 0 ? Scribbler::Change{header + 8, some_length()}
                                             : any_field();
            case 3: {
                (void)peer().get(1, base + random_.below(1'000), into_, [](Status) {});
                return random_.below(2) == 0 ? Scribbler::Change{header + 8, some_length()}
                                             : any_field();
            }
            default: {
                const std::size_t size = random_.below(2) == 0 ? 8 : 1'000;
                (void)peer().post(1, ask, ConstBytes(pattern_).first(size));
                return any_field();
            }
        }
    }
    void store(std::uint64_t address, std::size_t size) {
        (void)peer().store_async(1, address, ConstBytes(pattern_).first(size), stored, 0,
                                 [](Status) {});
    }
    Scribbler::Change any_field() { return {random_.below(header / 2) * 2, some_value()}; }
    std::uint16_t some_length() { return static_cast<std::uint16_t>(random_.below(60'000)); }
    std::uint16_t some_value() {
        constexpr std::array<std::uint16_t, 5> values = {0, 1, 2, 0x7FFF, 0xFFFF};
        const std::uint64_t which = random_.below(values.size() + 1);
        return which < values.size() ? values[which] : static_cast<std::uint16_t>(random_.next());
    }
    void expect_guarded() {
        const auto is_guard = [](std::byte byte) { return byte == guard; };
        const Bytes all(memory_);
        ASSERT_TRUE(std::ranges::all_of(all.first(around), is_guard)) << "before the region";
        ASSERT_TRUE(std::ranges::all_of(all.last(around), is_guard)) << "behind the region";
    }

    Random random_;
    std::vector<std::byte> memory_;
    std::vector<std::byte> pattern_ = std::vector<std::byte>(30'000, std::byte{3});
    std::vector<std::byte> into_ = std::vector<std::byte>(20'000);
    std::vector<std::byte> spare_ = std::vector<std::byte>(header);
    std::size_t message_max_ = 0;
    std::uint64_t handled_ = 0;
    std::uint64_t sum_ = 0;
    Instant now_{Duration::milliseconds(5)};
    std::array<std::unique_ptr<Node>, 2> nodes_;
};

}  // namespace wireproof::am::test
