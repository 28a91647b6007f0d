// For statistics of links with flits: two ends on a line that carries one flit in each slot and in
// each direction, as a real one does. It allocates nothing, so a second carries a million flits
// even in a test that is not optimised.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/link_engine.hpp"

namespace wireproof {

/// A user that always has one more message, up to a number of them. A message is its own number.
template <LinkEngine Engine>
class CountingEnd {
public:
    using Number = std::uint32_t;

    explicit CountingEnd(Engine engine) : link(std::move(engine)) {}

    void submit_more() {
        while (submitted < to_send && link.has_room() && wants(link)) {
            std::array<std::byte, sizeof(Number)> bytes;
            store_le<Number>(bytes, submitted);
            if (link.submit(bytes) != SubmitStatus::accepted) return;
            ++submitted;
        }
    }
    void draw() {
        while (const auto delivery = link.next_delivery()) {
            if (delivery->what != LinkDelivery::What::message) continue;
            if (delivery->bytes.size() != sizeof(Number) ||
                load_le<Number>(delivery->bytes.template first<sizeof(Number)>()) != delivered) {
                wrong = true;
            }
            ++delivered;
        }
    }

    Engine link;
    bool (*wants)(const Engine&) = [](const Engine&) { return true; };
    Number to_send = 0;
    Number submitted = 0;
    Number delivered = 0;
    bool wrong = false;  // a message was not the next one
};

/// `size`: bytes of a flit.
template <LinkEngine Engine, std::size_t size>
class SlotLine {
public:
    /// Both ends begin as copies of `engine`. A flit arrives `delay` slots after it left; a slot
    /// takes `slot_time`.
    SlotLine(const Engine& engine, std::size_t delay, Duration slot_time)
        : ends{CountingEnd<Engine>(engine), CountingEnd<Engine>(engine)},
          slot_time_(slot_time),
          lines_{std::vector<Flit>(delay), std::vector<Flit>(delay)} {}

    /// Each end receives first, and then sends. `spoils(from, bytes)` says whether the flit that
    /// leaves this end arrives damaged.
    template <class Spoils>
    void slot(Spoils& spoils) {
        const std::size_t place = slots % lines_[0].size();
        for (std::size_t to = 0; to < 2; ++to) receive(ends[to], lines_[1 - to][place]);
        for (std::size_t from = 0; from < 2; ++from) {
            ends[from].submit_more();
            if (ends[from].link.next_deadline() <= now) ends[from].link.on_deadline(now);
            Flit& flit = lines_[from][place];
            // Only the line damages flits, so the check is made now and then.
            flit.checked = slots % 64 == 0;
            out_.open(flit.bytes, {.frame_max = size, .carries_intact = !flit.checked});
            flit.left = ends[from].link.poll_transmit(now, out_);
            if (!flit.left) continue;
            flit.length = out_.gather_in_place().size();
            flit.spoilt = spoils(from, ConstBytes(flit.bytes).first(flit.length));
        }
        now = now + slot_time_;
        ++slots;
    }
    /// Runs until `done()`. False: that takes more than `slots_max` slots, or a message is wrong.
    template <class Done, class Spoils>
    bool run(std::uint64_t slots_max, Done&& done, Spoils&& spoils) {
        for (std::uint64_t i = 0; i < slots_max && !done(); ++i) {
            slot(spoils);
            if (ends[0].wrong || ends[1].wrong) return false;
        }
        return done();
    }

    std::array<CountingEnd<Engine>, 2> ends;
    Instant now;
    std::uint64_t slots = 0;

private:
    struct Flit {
        bool left = false;
        bool checked = false;
        bool spoilt = false;
        std::size_t length = 0;
        std::array<std::byte, size> bytes;
    };

    void receive(CountingEnd<Engine>& end, const Flit& flit) {
        if (!flit.left) return;
        if (flit.spoilt) {
            end.link.on_frame(now, {.bytes = {}, .integrity = Integrity::damaged});
        } else {
            end.link.on_frame(now,
                              {.bytes = ConstBytes(flit.bytes).first(flit.length),
                               .integrity = flit.checked ? Integrity::check : Integrity::intact});
        }
        end.draw();
    }

    Duration slot_time_;
    std::array<std::vector<Flit>, 2> lines_;  // rings: what left `delay` slots ago is at the place
    TxFrame out_;
};

}  // namespace wireproof
