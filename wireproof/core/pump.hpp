// The loops in which a frame moves between one engine and one wire, real or simulated: transmit()
// empties an engine into a lane, pump() is a whole turn with one peer. Not everybody can use
// pump():
//
//   front/am/node       many engines on one wire, and handlers that may send between two frames
//   front/link/node     its engine is behind AnyLink, and is filled from a stream while it sends
//   front/ib/device     one engine for many peers, asked for each peer apart
//   app/transfer        posts receives again between two frames
//   lab/worlds          its users act between receiving and sending
//   lab/drive, lab/sp2  many engines on a node; what each frame costs the node is simulated time
//   lab/ladder          notes every frame for the drawing
#pragma once

#include <utility>

#include "wireproof/core/engine.hpp"
#include "wireproof/core/wire.hpp"

namespace wireproof {

struct Transmitted {
    std::size_t frames = 0;
    bool lane_full = false;  // the engine may have more: flush and come again
    bool quiet = false;      // it has said that it has no more
};

/// Frames of one length that the engine wrote at once into room of the lane's.
template <class E, Lane L>
std::size_t transmit_equal(E& engine, L& lane) {
    if constexpr (RunLane<L> && requires { engine.equal_in_run(); }) {
        const std::size_t most = engine.equal_in_run();
        if (most < 2) return 0;
        const FrameRun run = lane.claim_run(engine.equal_size(), most);
        if (run.frames == 0) return 0;
        engine.write_equal(run);
        lane.commit_run(run);
        return run.frames;
    }
    return 0;
}

/// Of an engine that can send many frames of one kind without being asked for each. `now` is called
/// for the time, behind the frames: to read a clock may cost as much as one.
template <class E, Lane L, class Now>
Transmitted transmit_run(E& engine, L& lane, Now&& now) {
    Transmitted sent;
    const RunStart start = engine.begin_run();
    sent.quiet = start == RunStart::quiet;
    if (start != RunStart::begun) return sent;
    do {
        if (const std::size_t equal = transmit_equal(engine, lane); equal > 0) {
            sent.frames += equal;
            continue;
        }
        TxFrame* const room = lane.claim();
        if (room == nullptr) {
            sent.lane_full = true;
            break;
        }
        engine.next_of_run(*room);
        lane.commit();
        ++sent.frames;
    } while (engine.in_run());
    if constexpr (PromptLane<L>) {
        if (sent.frames > 0) lane.publish();
    }
    if (sent.frames > 0) sent.quiet = engine.end_run(now()) && !sent.lane_full;
    return sent;
}

/// A message that leaves by itself the moment it is made: written to where the peer reads it,
/// published, and only then saved by the engine. False: it cannot now, and nothing has happened.
/// `now` is called behind the frame, as above, and does not throw.
template <class E, SingleLane L, class Message, class Now>
[[gnu::always_inline]] inline bool transmit_single(E& engine, L& lane, const Message& message,
                                                   Now&& now) {
    if (!engine.leaves_single(message)) return false;
    const Bytes room = lane.claim_single();
    if (room.empty()) return false;
    lane.publish_single(engine.write_single(message, room));
    engine.single_left(now(), message);
    return true;
}

/// Lets the engine send to one peer what it has and the lane has room for. The wire is not flushed.
/// An engine that can say that it is quiet is not asked for a frame then.
template <Engine E, Lane L>
Transmitted transmit(E& engine, L& lane, Instant now) {
    Transmitted sent;
    while (true) {
        if constexpr (requires { engine.begin_run(); }) {
            const Transmitted run = transmit_run(engine, lane, [now] { return now; });
            sent.frames += run.frames;
            sent.lane_full = run.lane_full;
            sent.quiet = run.quiet;
            if (sent.lane_full || sent.quiet) return sent;
        }
        if constexpr (requires { engine.quiet(); }) {
            if (engine.quiet()) return sent;
        }
        TxFrame* room = lane.claim();
        if (room == nullptr) break;
        if (!engine.poll_transmit(now, *room)) return sent;
        lane.commit();
        ++sent.frames;
    }
    sent.lane_full = true;
    return sent;
}

/// Lets the engine take at once what came right behind the frame that it took last, once nothing is
/// to be drawn. Returns what it took: accepted each, and with nothing to draw.
template <class E, Wire W>
RxRun receive_following(E& engine, W& wire, Instant now) {
    RxRun run;
    if constexpr (RunWire<W> && requires { engine.takes_run(); }) {
        if (!engine.takes_run()) return run;
        run = wire.following();
        if (run.frames == 0) return run;
        run.frames = engine.on_run(now, run);
        wire.take_following(run.frames);
    }
    return run;
}

/// One turn of a two-ended engine on a wire. `deliver` takes each delivery as it comes; `judge`
/// hears the verdict on each received frame.
template <Engine E, Wire W, class Deliver, class Judge>
void pump(E& engine, W& wire, PeerId peer, Instant now, Deliver&& deliver, Judge&& judge) {
    while (const auto frame = wire.receive(now)) {
        judge(*frame, engine.on_frame(now, *frame));
        while (auto delivery = engine.next_delivery()) deliver(std::move(*delivery));
        const RxRun taken = receive_following(engine, wire, now);
        for (std::uint32_t i = 0; i < taken.frames; ++i) {
            judge(RxFrame{.bytes = taken.frame(i), .from = frame->from, .lent = {}},
                  RxVerdict::accepted);
        }
    }
    while (const auto event = wire.next_event()) engine.on_wire_event(now, event->second);
    if (engine.next_deadline() <= now) engine.on_deadline(now);
    while (auto delivery = engine.next_delivery()) deliver(std::move(*delivery));
    transmit(engine, wire.lane(peer), now);
    wire.flush(now);
}

template <Engine E, Wire W, class Deliver>
void pump(E& engine, W& wire, PeerId peer, Instant now, Deliver&& deliver) {
    pump(engine, wire, peer, now, std::forward<Deliver>(deliver), [](const RxFrame&, RxVerdict) {});
}

}  // namespace wireproof
