// For tests: two links. The test carries their micropackets by hand and controls the time
// (cable_test_kit.hpp has cables that take time). Frames are compared as short text. In it, numbers
// are positions that count from the first number of the life, which is just before the wrap.
//
//      "0..2 3/7* null/4 status/5 credit/6"    units 0 to 2; unit 3 resent, with RSEQ 7; a null
//      with
//                                              RSEQ 4; a status null; credit-only unit 6
//      "init init-ack reset reset-ack"
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/hippi/link.hpp"

namespace wireproof {
inline void PrintTo(RxVerdict verdict, std::ostream* out) {
    *out << name_of(verdict);
}
}  // namespace wireproof

namespace wireproof::hippi::test {

using Message = std::vector<std::byte>;

/// Repeatable bytes. The first ones contain the number.
inline Message message(std::uint64_t number, std::size_t size = data_size) {
    Message bytes(size);
    Random random(number + 1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 8); ++i) {
        bytes[i] = static_cast<std::byte>(number >> (8 * i));
    }
    return bytes;
}

inline std::uint64_t number_of(ConstBytes bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = std::min<std::size_t>(bytes.size(), 8); i-- > 0;) {
        number = number << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    }
    return number;
}

/// Numbers wrap after five units.
inline Config near_wrap() {
    Config config = Config::for_link({});
    config.first_number = 250;
    config.message_max = 8192;
    return config;
}

struct Frame {
    Message bytes;
    bool resent = false;

    Control control() const {
        return Control::decode(ConstBytes(bytes).last<control_size>()).value_or(Control{});
    }
};
using Frames = std::vector<Frame>;
using Verdicts = std::vector<RxVerdict>;

/// The same frame with a changed control word and an LCRC that fits.
inline Frame forged(Frame frame, const std::function<void(Control&)>& change) {
    Control control = frame.control();
    change(control);
    const Bytes bytes(frame.bytes);
    const auto to = bytes.last<control_size>();
    control.encode(to);
    store_lcrc(to, lcrc(bytes.first<data_size>(), to));
    return frame;
}

inline Frame made(Type type, std::uint8_t tseq, std::uint8_t rseq = no_number) {
    return forged({.bytes = Message(unit_size)},
                  [=](Control& control) { control = {.type = type, .tseq = tseq, .rseq = rseq}; });
}

/// One end, and the messages that it delivered.
struct End {
    explicit End(const Config& config) : engine(config) {}

    RxVerdict give(Instant now, ConstBytes bytes, Integrity integrity = Integrity::check) {
        const RxVerdict verdict = engine.on_frame(now, {bytes, PeerId{0}, integrity});
        draw();
        return verdict;
    }

    void draw() {
        while (const auto delivery = engine.next_delivery()) {
            switch (delivery->what) {
                case LinkDelivery::What::up: ++ups; break;
                case LinkDelivery::What::down: ++downs; break;
                case LinkDelivery::What::message:
                    messages.emplace_back(delivery->bytes.begin(), delivery->bytes.end());
                    channels.push_back(engine.delivered_channel());
                    break;
            }
        }
    }

    Frames take(Instant now, std::size_t most = 100'000) {
        Frames frames;
        std::array<std::byte, unit_size> room{};
        for (TxFrame out; frames.size() < most;) {
            out.open(room, {.frame_max = room.size()});
            if (!engine.poll_transmit(now, out)) break;
            Frame frame{.bytes = Message(out.size()), .resent = out.resent()};
            out.gather(frame.bytes);
            frames.push_back(std::move(frame));
        }
        return frames;
    }

    void elapse(Instant now) {
        if (engine.next_deadline() <= now) engine.on_deadline(now);
        draw();
    }

    /// Submits messages of one unit, numbered from `first`, until `count` are accepted or the first
    /// is not. Returns how many were accepted.
    std::uint64_t submit(std::uint64_t count, std::uint64_t first = 0, std::uint8_t channel = 0) {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (engine.submit(channel, message(first + i)) != SubmitStatus::accepted) return i;
        }
        return count;
    }

    std::vector<std::uint64_t> numbers() const {
        std::vector<std::uint64_t> all;
        for (const Message& one : messages) all.push_back(number_of(one));
        return all;
    }

    Link engine;
    std::vector<Message> messages;
    std::vector<std::uint8_t> channels;
    int ups = 0;
    int downs = 0;
};

struct Pair {
    explicit Pair(const Config& of_both = near_wrap()) : Pair(of_both, of_both) {}
    Pair(const Config& of_a, const Config& of_b) : config(of_a), a(of_a), b(other_seed(of_b)) {}

    static Config other_seed(Config config) {
        config.seed += 1000;
        return config;
    }

    /// A pair with a running link.
    static Pair started(const Config& config = near_wrap()) {
        Pair pair(config);
        pair.settle();
        EXPECT_TRUE(pair.a.engine.running() && pair.b.engine.running());
        return pair;
    }

    End& other(End& end) { return &end == &a ? b : a; }

    RxVerdict give(End& to, const Frame& frame) { return to.give(now, frame.bytes); }
    RxVerdict damage(End& to, const Frame& frame) {
        return to.give(now, frame.bytes, Integrity::damaged);
    }
    Verdicts give(End& to, const Frames& frames) {
        Verdicts verdicts;
        for (const Frame& frame : frames) verdicts.push_back(give(to, frame));
        return verdicts;
    }

    Frames take(End& from, std::size_t most = 100'000) { return from.take(now, most); }
    std::string taken(End& from, std::size_t most = 100'000) { return text(take(from, most)); }
    /// Carries all frames that leave one end now to the other end.
    std::string carry(End& from) {
        const Frames frames = take(from);
        give(other(from), frames);
        return text(frames);
    }

    /// Carries frames in both directions until neither end has one to send. Returns the number of
    /// frames.
    std::size_t settle() {
        std::size_t carried = 0;
        for (std::size_t before = 1; carried != before && carried < 1'000'000;) {
            before = carried;
            for (End* from : {&a, &b}) {
                const Frames frames = take(*from);
                give(other(*from), frames);
                carried += frames.size();
            }
        }
        return carried;
    }

    void wait(Duration time) {
        now = now + time;
        a.elapse(now);
        b.elapse(now);
    }
    /// The wait after which a null carries an acknowledgement back.
    void wait_for_null() { wait(config.null_after); }

    /// The number on the wire for a position.
    std::uint8_t number(std::uint32_t position) const {
        return static_cast<std::uint8_t>((config.first_number + position) % config.modulus);
    }
    std::uint32_t position(std::uint8_t number) const {
        return (number + config.modulus - config.first_number) % config.modulus;
    }

    std::string text(const Frames& frames) const;

    Config config;
    Instant now{Duration::microseconds(100)};
    End a;
    End b;
};

inline std::string Pair::text(const Frames& frames) const {
    std::string out;
    std::string run_mark;  // what the last plain unit carried besides its number
    std::uint32_t run_last = 0;
    bool run_open = false;  // ".." was written, but not yet its end
    const auto close = [&] {
        if (run_open) out += std::to_string(run_last) + run_mark;
        run_open = false;
    };
    bool plain_before = false;
    for (const Frame& frame : frames) {
        const Control control = frame.control();
        std::string mark;
        if (control.rseq != no_number) mark += "/" + std::to_string(position(control.rseq));
        if (frame.resent) mark += "*";
        const bool plain = needs_credit(control.type);
        const std::uint32_t at = position(control.tseq);
        const bool joins = mark.find('/') == std::string::npos;
        if (plain && plain_before && joins && mark == run_mark && at == run_last + 1) {
            if (!run_open) {
                out.resize(out.size() - mark.size());
                out += "..";
                run_open = true;
            }
            run_last = at;
            continue;
        }
        close();
        if (!out.empty()) out += " ";
        const std::string kind(describe(frame.bytes).kind);
        if (plain) {
            out += std::to_string(at) + mark;
        } else if (control.type == Type::credit) {
            out += "credit" + std::to_string(at) + mark;
        } else {
            out += (control.type == Type::status_null ? "status" : kind) + mark;
        }
        plain_before = plain;
        run_mark = mark;
        run_last = at;
    }
    close();
    return out;
}

}  // namespace wireproof::hippi::test
