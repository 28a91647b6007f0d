// The loops that move frames between one engine and one wire, real or simulated. transmit() sends
// what the engine has to a lane. pump() is a whole turn with one peer. Some code cannot use pump()
// and has its own loop:
//
//   front/am/node       many engines on one wire, and handlers that may send between two frames
//   front/link/node     its engine is behind AnyLink, and gets data from a stream while it sends
//   front/ib/device     one engine for many peers, which is asked for each peer separately
//   app/transfer        posts receives again between two frames
//   lab/worlds          its users act between receiving and sending
//   lab/common, lab/sp2  many engines on a node; what each frame costs the node is simulated time
//   lab/ladder          notes every frame for the drawing
#pragma once

#include <utility>

#include "wireproof/core/engine.hpp"
#include "wireproof/core/wire.hpp"

namespace wireproof {

struct Transmitted {
    std::size_t frames = 0;
    bool lane_full = false;  // the engine may have more: the caller flushes and calls again
    bool quiet = false;      // the engine has said that it has no more
};

/// Lets the engine write frames of one length into the lane's room, many at once. Returns how many;
/// 0 if the engine has no such frames or the lane has no such room.
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

/// For an engine that can send many frames of one kind without a poll_transmit() for each. The
/// function calls `now` for the time, but only after the frames: to read a clock may cost as much
/// as a frame.
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

/// Sends a single message at once. The engine writes it where the peer reads it, the lane publishes
/// it, and only then does the engine save it. False: this is not possible now, and nothing has
/// happened. The function calls `now` after the frame, as above; `now` must not throw.
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

/// Lets the engine send to one peer as long as it has frames and the lane has room. It does not
/// flush the wire. If an engine has quiet() and this is true, the function does not ask it for a
/// frame. If an engine has on_no_room(), the function calls it when the lane has no room: such an
/// engine counts the time in which nothing can leave.
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
    if constexpr (requires { engine.on_no_room(now); }) engine.on_no_room(now);
    sent.lane_full = true;
    return sent;
}

/// Lets the engine process at once the frames that directly follow the last received one. The
/// caller calls it when the engine has no more deliveries. Returns the frames that the engine
/// accepted; none of them causes a delivery.
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

/// One turn of an engine that has one peer. `deliver` gets each delivery as it comes; `judge` gets
/// each received frame and its verdict.
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
