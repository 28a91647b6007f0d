// The cost of shared memory between two pinned processes. First come the limits of the machine (a
// cache line there and back, a bare ring, memcpy), then the wire. Each result is the median of many
// short slices. The best tenth is beside it, because other load disturbs. The program prints
// nanoseconds and millions of frames per second. wireproof/wire/shm/README.md has results.
#include <immintrin.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/am_path/am_path.hpp"

#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof {
namespace {

constexpr int slices = 101;
constexpr std::uint64_t rounds = 2'000;    // of ping-pong, per slice
constexpr std::uint64_t frames = 100'000;  // of a stream, per slice

double seconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

/// Prints the median and the best tenth of the slices.
void report(const char* name, std::vector<double> values, const char* unit, bool more_is_better) {
    std::sort(values.begin(), values.end());
    if (more_is_better) std::reverse(values.begin(), values.end());
    std::printf("%-44s %9.1f %s (best tenth %.1f)\n", name, values[values.size() / 2], unit,
                values[values.size() / 10]);
    std::fflush(stdout);
}

/// Runs the two functions on two processors. The first one measures.
void run(const std::function<void()>& first, const std::function<void()>& second) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child polls and would never end
        pin(1);
        second();
        ::_exit(0);
    }
    pin(0);
    first();
    ::waitpid(child, nullptr, 0);
}

void report_ping_pong(const char* name, const std::function<void()>& round) {
    std::vector<double> halves;
    for (int slice = 0; slice < slices; ++slice) {
        const double start = seconds();
        for (std::uint64_t i = 0; i < rounds; ++i) round();
        halves.push_back((seconds() - start) / rounds / 2 * 1e9);
    }
    report(name, std::move(halves), "ns half round trip", false);
}

void cache_line_ping_pong() {
    Segment segment = std::move(*Segment::create(64));
    const auto there = shared_word<std::uint64_t>(segment.ring_filled_by(0).lines_at);
    const auto back = shared_word<std::uint64_t>(segment.ring_filled_by(1).lines_at);
    constexpr std::uint64_t all = slices * rounds;
    run(
        [&] {
            std::uint64_t number = 0;
            report_ping_pong("bare cache line", [&] {
                there.store(++number, std::memory_order_release);
                while (back.load(std::memory_order_acquire) != number) {
                }
            });
        },
        [&] {
            for (std::uint64_t number = 1; number <= all; ++number) {
                while (there.load(std::memory_order_acquire) != number) {
                }
                back.store(number, std::memory_order_release);
            }
        });
}

/// Both ends of two bare rings: those of the parent and those of the child.
struct Rings {
    static constexpr std::size_t lines = 8192;

    Segment segment = std::move(*Segment::create(lines));
    RingProducer producer(std::size_t side) const {
        return {segment.ring_filled_by(side), longest_frame(lines)};
    }
    RingConsumer consumer(std::size_t side) const {
        return {segment.ring_filled_by(1 - side), longest_frame(lines)};
    }
};

void put(RingProducer& producer, std::uint64_t number, std::size_t size) {
    Bytes room = producer.claim();
    while (room.empty()) {
        producer.publish();
        room = producer.claim();
    }
    std::memcpy(room.data(), &number, sizeof number);
    producer.commit(size);
}

std::uint64_t take(RingConsumer& consumer) {
    for (;;) {
        if (const auto frame = consumer.next()) {
            std::uint64_t number = 0;
            std::memcpy(&number, frame->bytes.data(), sizeof number);
            return number;
        }
    }
}

void ring_ping_pong() {
    const Rings rings;
    run(
        [&] {
            RingProducer out = rings.producer(0);
            RingConsumer in = rings.consumer(0);
            report_ping_pong("bare ring, 56 bytes", [&] {
                put(out, 1, 56);
                out.publish();
                take(in);
            });
        },
        [&] {
            RingProducer out = rings.producer(1);
            RingConsumer in = rings.consumer(1);
            for (std::uint64_t i = 0; i < slices * rounds; ++i) {
                take(in);
                put(out, 1, 56);
                out.publish();
            }
        });
}

/// The other end: takes so many frames in each slice, and then says so.
void take_slices(const Rings& rings, std::uint64_t frames_a_slice) {
    RingProducer out = rings.producer(1);
    RingConsumer in = rings.consumer(1);
    for (int slice = 0; slice < slices; ++slice) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < frames_a_slice; ++i) sum += take(in);
        put(out, sum, 56);
        out.publish();
    }
}

/// The receiver answers once per slice, so a slice ends when its last frame has been read.
void ring_stream(const char* name, std::uint64_t at_once) {
    const Rings rings;
    run(
        [&] {
            RingProducer out = rings.producer(0);
            RingConsumer in = rings.consumer(0);
            std::vector<double> rates;
            for (int slice = 0; slice < slices; ++slice) {
                const double start = seconds();
                for (std::uint64_t i = 0; i < frames; ++i) {
                    put(out, i, 56);
                    if (out.unpublished() >= at_once) out.publish();
                }
                out.publish();
                take(in);
                rates.push_back(frames / (seconds() - start) / 1e6);
            }
            report(name, std::move(rates), "M frames/s", true);
        },
        [&] { take_slices(rings, frames); });
}

/// The least cost of a store: a copy, and a cache line that tells the other end about it.
void copies_told(std::size_t size, bool tell) {
    const Rings rings;
    constexpr std::uint64_t copied = 1'000;  // per slice
    run(
        [&] {
            RingProducer out = rings.producer(0);
            RingConsumer in = rings.consumer(0);
            // Source and target start at pages: the place in a page changes the time of a copy by a
            // third.
            auto memory = std::move(*ShmWire::pair({}));
            const Bytes source = *memory.first.allocate_shared(size);
            const Bytes target = *memory.first.allocate_shared(size);
            std::memset(source.data(), 7, size);
            std::vector<double> values;
            for (int slice = 0; slice < slices; ++slice) {
                const double start = seconds();
                for (std::uint64_t i = 0; i < copied; ++i) {
                    std::memcpy(target.data(), source.data(), size);
                    asm volatile("" : : "r"(target.data()) : "memory");
                    put(out, i, 8);
                    out.copied_much();
                    if (tell) out.publish();
                }
                out.publish();
                take(in);
                values.push_back((seconds() - start) / copied * 1e9);
            }
            const std::string name = std::to_string(size / 1024) + " KiB copied" +
                                     (tell ? ", a line published for each" : "");
            report(name.c_str(), std::move(values), "ns", false);
        },
        [&] { take_slices(rings, copied); });
}

/// One end of a wire. The other process has the other end.
class End {
public:
    End(std::size_t node, ControlSocket socket)
        : wire(std::move(*ShmWire::adopt({.node = node}, std::move(socket)))),
          peer_(static_cast<PeerId>(1 - node)) {
        // Reads the socket, but receives no frame.
        while (!wire.connected(peer_)) wire.prepare_to_sleep();
    }

    bool commit(std::uint64_t number, ConstBytes payload) {
        TxFrame* const frame = wire.lane(peer_).claim();
        if (frame == nullptr) return false;
        store_le<std::uint64_t>(frame->add_header<48>().first<8>(), number);
        frame->add_payload(payload);
        wire.lane(peer_).commit();
        return true;
    }
    void send(std::uint64_t number, ConstBytes payload) {
        while (!commit(number, payload)) wire.flush(Instant());
    }
    std::uint64_t receive() {
        for (;;) {
            if (const auto frame = wire.receive(Instant())) {
                return load_le<std::uint64_t>(frame->bytes.first<8>());
            }
        }
    }
    void flush() { wire.flush(Instant()); }

    ShmWire wire;

private:
    PeerId peer_;
};

void run_ends(const std::function<void(End&)>& first, const std::function<void(End&)>& second) {
    auto made = ControlSocket::pair();
    WIREPROOF_CHECK(made);
    auto sockets = std::move(*made);
    run(
        [&] {
            End end(0, std::move(sockets.first));
            first(end);
        },
        [&] {
            End end(1, std::move(sockets.second));
            second(end);
        });
}

void wire_ping_pong(const char* name, std::size_t payload) {
    const std::vector<std::byte> bytes(payload);
    run_ends(
        [&](End& end) {
            report_ping_pong(name, [&] {
                end.send(1, bytes);
                end.flush();
                end.receive();
            });
        },
        [&](End& end) {
            for (std::uint64_t i = 0; i < slices * rounds; ++i) {
                end.receive();
                end.send(1, bytes);
                end.flush();
            }
        });
}

void wire_stream(const char* name, std::uint64_t per_flush) {
    const std::vector<std::byte> bytes(8);
    run_ends(
        [&](End& end) {
            std::vector<double> rates;
            for (int slice = 0; slice < slices; ++slice) {
                const double start = seconds();
                for (std::uint64_t i = 0; i < frames; ++i) {
                    end.send(i, bytes);
                    if (i % per_flush == per_flush - 1) end.flush();
                }
                end.flush();
                end.receive();
                rates.push_back(frames / (seconds() - start) / 1e6);
            }
            report(name, std::move(rates), "M frames/s", true);
        },
        [&](End& end) {
            for (int slice = 0; slice < slices; ++slice) {
                for (std::uint64_t i = 0; i < frames; ++i) end.receive();
                end.send(1, bytes);
                end.flush();
            }
        });
}

/// A receive call that finds nothing, at a node with this many idle peers.
void idle_peers(std::size_t peers) {
    std::vector<ShmWire> wires;
    const std::string job = "am_path-" + std::to_string(::getpid());
    for (std::size_t i = 0; i <= peers; ++i) {
        ShmWire::Config config{.name = job + std::to_string(peers), .node = i, .nodes = peers + 1};
        wires.push_back(std::move(*ShmWire::open(config)));
    }
    Instant now;
    for (int i = 0; i < 20; ++i) {
        now = now + Duration::milliseconds(2);
        for (ShmWire& wire : wires) wire.receive(now);
    }
    std::vector<double> values;
    for (int slice = 0; slice < slices; ++slice) {
        const double start = seconds();
        for (std::uint64_t i = 0; i < rounds; ++i) wires[0].receive(now);
        values.push_back((seconds() - start) / rounds * 1e9);
    }
    report(("receive of nothing, " + std::to_string(peers) + " peers").c_str(), std::move(values),
           "ns", false);
}

void copy_with_rep_movsb(std::byte* to, const std::byte* from, std::size_t size) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void copy_past_the_cache(std::byte* to, const std::byte* from, std::size_t size) {
    for (std::size_t i = 0; i < size; i += 16) {
        const auto* const at = static_cast<const __m128i*>(static_cast<const void*>(from + i));
        _mm_stream_si128(static_cast<__m128i*>(static_cast<void*>(to + i)), _mm_load_si128(at));
    }
    _mm_sfence();
}

/// One process copies into memory that another process shares. That process does not read it
/// meanwhile.
void copies(std::size_t size) {
    auto wires = std::move(*ShmWire::pair({}));
    const Bytes target = *wires.first.allocate_shared(size);
    const Bytes source = *wires.second.allocate_shared(size);
    std::vector<std::byte> alone(size);
    wires.first.share(PeerId{1}, 0, target, true, true);
    wires.first.share(PeerId{1}, 1ULL << 40, alone, true, true);
    wires.first.flush(Instant());
    wires.second.receive(Instant());
    std::memset(source.data(), 7, size);
    const auto measure = [&](const char* name, const std::function<bool()>& copy) {
        std::vector<double> values;
        const int repeats = static_cast<int>(std::max<std::size_t>(1, (4 << 20) / size));
        for (int slice = 0; slice < slices; ++slice) {
            const double start = seconds();
            for (int i = 0; i < repeats; ++i) {
                if (!copy()) return;
            }
            values.push_back(static_cast<double>(size) * repeats / (seconds() - start) / 1e9);
        }
        report((std::string(name) + ", " + std::to_string(size >> 10) + " KiB").c_str(),
               std::move(values), "GB/s", true);
    };
    measure("memcpy", [&] { return std::memcpy(target.data(), source.data(), size) != nullptr; });
    measure("rep movsb", [&] {
        copy_with_rep_movsb(target.data(), source.data(), size);
        return true;
    });
    measure("non-temporal", [&] {
        copy_past_the_cache(target.data(), source.data(), size);
        return true;
    });
    measure("write_memory, mapped",
            [&] { return wires.second.write_memory(PeerId{0}, 0, source); });
    measure("write_memory, private",
            [&] { return wires.second.write_memory(PeerId{0}, 1ULL << 40, source); });
    measure("read_memory, private",
            [&] { return wires.second.read_memory(PeerId{0}, 1ULL << 40, source); });
}

}  // namespace

void measure_shm(long /*count*/) {
    cache_line_ping_pong();
    ring_ping_pong();
    copies_told(64 << 10, false);
    copies_told(64 << 10, true);
    wire_ping_pong("wire, 56 bytes", 8);
    wire_ping_pong("wire, 120 bytes", 72);
    ring_stream("bare ring, each frame published", 1);
    ring_stream("bare ring, 8 frames at once", 8);
    ring_stream("bare ring, 32 frames at once", 32);
    ring_stream("bare ring, 128 frames at once", 128);
    wire_stream("wire, flushed after each frame", 1);
    wire_stream("wire, 32 frames per flush", 32);
    wire_stream("wire, 1024 frames per flush", 1024);
    idle_peers(1);
    idle_peers(7);
    copies(64 << 10);
    copies(1 << 20);
}

}  // namespace wireproof
