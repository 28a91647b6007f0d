// For tests: two ends of a link with a line between them that carries one flit in each slot and in
// each direction, as a real one does. A spoilt flit arrives as a damaged frame without bytes.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/flit/link.hpp"

namespace wireproof::flit {

inline std::vector<std::byte> message(std::size_t size, std::uint32_t seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(i < 4 ? seed >> (8 * i) : seed + i * 7);
    }
    return bytes;
}

/// A flit on the line.
struct OnLine {
    std::vector<std::byte> bytes;  // empty: spoilt
    std::size_t intact_front = 0;  // spoilt behind so many bytes; 0: not
    bool payload = false;
    bool resent = false;
};

class LineEnd {
public:
    explicit LineEnd(const Config& config)
        : link(config), describe_flit(describe_of(config.format)) {}

    std::optional<OnLine> poll(Instant now) {
        TxFrame out;
        out.open(room_, {.frame_max = flit_max, .carries_intact = !check});
        if (!link.poll_transmit(now, out)) return std::nullopt;
        OnLine flit;
        flit.bytes.resize(out.size());
        out.gather(flit.bytes);
        flit.payload = describe_flit(flit.bytes).kind.substr(0, 7) == "payload";
        flit.resent = out.resent();
        return flit;
    }
    RxVerdict give(Instant now, const OnLine& flit) {
        const bool spoilt = flit.bytes.empty() || flit.intact_front > 0;
        const Integrity integrity = spoilt  ? Integrity::damaged
                                    : check ? Integrity::check
                                            : Integrity::intact;
        last = link.on_frame(
            now, {.bytes = flit.bytes, .integrity = integrity, .intact_front = flit.intact_front});
        draw();
        return last;
    }
    void draw() {
        while (const auto delivery = link.next_delivery()) {
            if (delivery->what == LinkDelivery::What::up) ++ups;
            if (delivery->what == LinkDelivery::What::down) ++downs;
            if (delivery->what != LinkDelivery::What::message) continue;
            const ConstBytes got = delivery->bytes;
            const auto expected = message(message_size, delivered);
            if (!std::equal(got.begin(), got.end(), expected.begin(), expected.end())) wrong = true;
            ++delivered;
        }
    }

    Link link;
    Describe describe_flit;
    bool check = false;
    std::size_t message_size = 8;  // of each message that it gets
    std::uint32_t submitted = 0;
    std::uint32_t delivered = 0;
    bool wrong = false;
    int ups = 0;
    int downs = 0;
    RxVerdict last{};

private:
    std::array<std::byte, flit_max> room_{};
};

/// Whether the flit that leaves end `from` is spoilt. It may also change the bytes.
using Spoils = std::function<bool(std::size_t from, OnLine& flit)>;

/// `delay`: slots from the end that sends to the other end.
class Line {
public:
    Line(const Config& config, std::size_t delay)
        : ends{LineEnd(config), LineEnd(config)}, delay_(delay) {}

    /// Each end receives first, and then sends.
    void slot(const Spoils& spoils) {
        for (std::size_t to = 0; to < 2; ++to) {
            auto& line = lines_[1 - to];
            if (line.size() <= delay_ - 1) continue;
            ends[to].give(now, line.front());
            line.pop_front();
        }
        for (std::size_t from = 0; from < 2; ++from) {
            feed(from);
            if (ends[from].link.next_deadline() <= now) ends[from].link.on_deadline(now);
            auto flit = ends[from].poll(now);
            if (!flit) continue;
            if (seen) seen(from, *flit);
            if (spoils && spoils(from, *flit)) {
                if (even_spared > 0 && random.chance(even_spared)) {
                    flit->intact_front = half_size;
                } else {
                    flit->bytes.clear();
                }
            }
            lines_[from].push_back(std::move(*flit));
        }
        now = now + Duration::nanoseconds(2);
        ++slots;
    }
    /// False: not all messages arrived in so many slots.
    bool run(std::size_t slots_max, const Spoils& spoils = {}) {
        for (std::size_t i = 0; i < slots_max; ++i) {
            if (done()) return true;
            slot(spoils);
            if (ends[0].wrong || ends[1].wrong) return false;
        }
        return done();
    }
    bool done() const {
        for (std::size_t from = 0; from < 2; ++from) {
            if (ends[from].submitted < to_send[from]) return false;
            if (ends[1 - from].delivered < to_send[from]) return false;
            if (ends[from].link.transmitter().outstanding() > 0) return false;
        }
        return true;
    }

    std::array<LineEnd, 2> ends;
    std::array<std::uint32_t, 2> to_send{};
    std::size_t message_size = 8;
    double load = 1;         // chance that an end submits in a slot
    double even_spared = 0;  // chance that only the odd half of a spoilt flit is
    Random random{1};
    std::function<void(std::size_t from, const OnLine&)> seen;
    Instant now;
    std::uint64_t slots = 0;

private:
    void feed(std::size_t from) {
        LineEnd& end = ends[from];
        ends[1 - from].message_size = message_size;
        while (end.submitted < to_send[from] && end.link.has_room() &&
               end.link.transmitter().waiting() == 0 && random.chance(load)) {
            EXPECT_EQ(end.link.submit(message(message_size, end.submitted)),
                      SubmitStatus::accepted);
            ++end.submitted;
        }
    }

    std::size_t delay_;
    std::array<std::deque<OnLine>, 2> lines_;
};

inline Spoils spoil_at_random(Random& random, double rate) {
    return [&random, rate](std::size_t, const OnLine&) { return random.chance(rate); };
}

}  // namespace wireproof::flit
