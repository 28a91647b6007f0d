// For tests: a world of two connections that runs in two ways, with the fast paths and without them
// (Config::fast_paths). Its log has everything that the engines show.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test::ways {

using Packet = std::vector<std::byte>;

/// Room for one frame. A complete frame goes to the other end.
struct QueueLane {
    LaneCapabilities capabilities() const {
        return {.frame_max = room.size(), .carries_intact = !checked};
    }
    TxFrame* claim() {
        if (sent->size() >= most) return nullptr;
        frame.open(room, capabilities());
        return &frame;
    }
    void commit() {
        std::vector<std::byte> bytes(room.size());
        const Bytes whole = frame.gather(bytes);
        sent->emplace_back(whole.begin(), whole.end());
    }
    void publish() {}
    Bytes claim_single() { return sent->size() >= most ? Bytes() : Bytes(room); }
    void publish_single(std::size_t size) {
        const Bytes whole = Bytes(room).first(size);
        sent->emplace_back(whole.begin(), whole.end());
    }

    std::vector<std::byte> room;
    std::deque<Packet>* sent;
    bool checked = false;
    std::size_t most = 40;
    TxFrame frame{};
};

struct End {
    End(const Config& config, std::deque<Packet>* sent)
        : engine(config, table), lane{std::vector<std::byte>(config.packet_max), sent} {
        EXPECT_TRUE(table.add(0, memory, Access{true, true}));
        engine.bind(table);
    }
    std::vector<std::byte> memory = std::vector<std::byte>(4096);
    std::vector<std::byte> source = pattern(4096);
    std::vector<std::byte> destination = std::vector<std::byte>(4096);
    MemoryTable table;
    Connection engine;
    QueueLane lane;
    Instant none_before = never;  // no deadline is earlier
};

/// What happens in the world besides frames that arrive in order.
struct Weather {
    double bad = 0;        // a frame is lost, duplicated or late
    double unusual = 0;    // the user asks for something that is no request
    bool bundles = true;   // many requests before one turn
    bool checked = false;  // by the engines' checksums; sometimes a frame is damaged
    double meddles = 0;    // a frame leaves before all deliveries are drawn
    double ends = 0;       // a session ends
    double again = 0.4;    // the next request follows an answer at once
    double in_turn = 0;    // each event is a request or its answer
};

/// How the connections of a world behave.
enum class Way : std::uint8_t { fast, general };

class WayWorld {
public:
    WayWorld(Config config, std::uint64_t seed, Weather weather, Way way)
        : random_(seed), marks_(mix64(seed)), weather_(weather), fast_(way == Way::fast) {
        config.fast_paths = fast_;
        for (std::uint16_t i = 0; i < 2; ++i) {
            config.node = i;
            config.peer = 1 - i;
            config.seed = seed + i;
            ends_.push_back(std::make_unique<End>(config, &on_way_[i]));
            ends_.back()->lane.checked = weather.checked;
        }
    }

    void live(int steps) {
        for (int i = 0; i < steps; ++i) {
            End& end = *ends_[step()];
            Fingerprint sink;
            end.engine.fingerprint(now_, sink);
            note("state", sink.value().high, sink.value().low);
            const Connection& seen = end.engine;
            const Stats& stats = seen.stats();
            for (const auto& of : {stats.received, stats.unpacked}) {
                for (const std::uint64_t count : of) note("received", count);
            }
            for (const std::uint64_t count : stats.sent) note("sent of a kind", count);
            note("counted", stats.resent, stats.nacks_acted_on, stats.overruns,
                 stats.keepalive_timeouts, stats.sessions, stats.filled, stats.marked,
                 stats.marked_at_peer);
            note("rest", seen.idle(), seen.quiet());
            note("due", seen.next_deadline().since_start().picoseconds());
            end.none_before = earliest(end.none_before, end.engine.take_soonest_set());
            ASSERT_LE(end.none_before, seen.next_deadline()) << "step " << i;
            quiet += seen.predicting() && seen.quiet() ? 1U : 0U;
        }
    }

    struct Entry {
        const char* what = nullptr;
        std::uint64_t digest = 0;
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> log;
    std::uint64_t arrived = 0;
    std::uint64_t accepted = 0;
    std::uint64_t met_predicting = 0;
    std::uint64_t single_left = 0;
    std::uint64_t quiet = 0;        // with the fast path open
    std::uint64_t asked_again = 0;  // before the rest of the turn of an answer

private:
    template <class... Numbers>
    void note(const char* what, Numbers... numbers) {
        std::uint64_t digest = 0;
        ((digest = mix64(digest ^ static_cast<std::uint64_t>(numbers))), ...);
        log.push_back({what, digest});
    }
    bool happens(double chance) { return random_.uniform() < chance; }
    std::uint32_t below(std::uint32_t end) {
        return static_cast<std::uint32_t>(random_.next() % end);
    }
    /// Returns the end that did something.
    std::size_t step() {
        const std::size_t at = below(2);
        End& end = *ends_[at];
        if (happens(weather_.in_turn)) return go_on(at);
        switch (below(8)) {
            case 0:
                if (below(2) == 0) {
                    const std::uint32_t handler = 1 + below(3);  // drawn at random before the words
                    leave<Channel::request>(end, HandlerId(handler), next_message());
                } else {
                    for (std::uint32_t i = weather_.bundles ? below(5) : 1; i > 0; --i) ask(end);
                }
                break;
            case 1:
                if (happens(weather_.unusual)) ask_for_more(end);
                break;
            case 2:
            case 3: send(end); break;
            case 4:
                if (happens(weather_.ends)) {
                    note("event");
                    end.engine.on_wire_event(now_, WireEvent::peer_gone);
                    draw(end);
                }
                now_ = now_ + Duration::microseconds(below(10) == 0 ? 3000 : 1);
                if (end.engine.next_deadline() <= now_) {
                    end.engine.on_deadline(now_);
                    draw(end);
                    end.none_before = end.engine.next_deadline();
                }
                break;
            default: arrive(at); break;
        }
        return at;
    }
    std::size_t go_on(std::size_t at) {
        const std::size_t to = on_way_[1 - at].empty() ? 1 - at : at;
        if (!on_way_[1 - to].empty()) {
            arrive(to);
        } else {
            leave<Channel::request>(*ends_[to], HandlerId(1), next_message());
        }
        return to;
    }
    static std::uint64_t digest(ConstBytes bytes) {
        std::uint64_t value = bytes.size();
        for (const std::byte byte : bytes) value = mix64(value ^ static_cast<std::uint64_t>(byte));
        return value;
    }
    void send(End& end) {
        const Transmitted sent = transmit(end.engine, end.lane, now_);
        note("sent", sent.frames, sent.lane_full);
        for (const Packet& packet : *end.lane.sent) note("frame", digest(packet));
    }
    /// Often whole words, which the fast path copies in another way.
    std::vector<std::byte> next_message() {
        const std::uint32_t most = below(40) == 0 ? 240 : below(20);
        std::vector<std::byte> message(below(2) == 0 ? most / 4 * 4 : most);
        for (std::byte& byte : message) byte = static_cast<std::byte>(++asked_);
        return message;
    }
    void ask(End& end) {
        const auto arguments = next_message();
        note("ask", static_cast<int>(end.engine.request(HandlerId(1 + below(3)), arguments)));
    }
    /// Sends all messages that wait: singly if that is possible, or in the usual way.
    template <Channel channel>
    void leave(End& end, HandlerId handler, ConstBytes arguments) {
        PostStatus status = PostStatus::accepted;
        const auto now = [this] { return now_; };
        Connection& engine = end.engine;
        const Connection::Single<channel> message{handler, arguments};
        if (fast_ && !weather_.checked && transmit_single(engine, end.lane, message, now)) {
            ++single_left;
        } else {
            status = channel == Channel::request ? engine.request(handler, arguments)
                                                 : engine.reply(handler, arguments);
        }
        transmit(engine, end.lane, now_);
        note("leave", static_cast<int>(status));
        for (const Packet& packet : *end.lane.sent) note("frame", digest(packet));
    }
    void ask_for_more(End& end) {
        Connection& engine = end.engine;
        const std::size_t size = below(3) == 0 ? 1500 : below(200);
        const ConstBytes source = ConstBytes(end.source).first(size);
        switch (below(5)) {
            case 0:
                note("store", static_cast<int>(
                                  engine.store({below(5000), source, HandlerId(4), 1, ++asked_})));
                break;
            case 1:
                note("get", static_cast<int>(engine.get(
                                {below(5000), Bytes(end.destination).first(size), ++asked_})));
                break;
            case 2:
            case 3:
                note("note", static_cast<int>(engine.note(
                                 {below(5000), size, HandlerId(5), 2, ++asked_, below(2) == 0})));
                break;
            default: engine.set_awaiting(!engine.awaiting()); break;
        }
    }
    void arrive(std::size_t to) {
        auto& frames = on_way_[1 - to];
        if (frames.empty()) return;
        Packet packet = frames.front();
        const bool bad = happens(weather_.bad);
        // Lost, duplicated, late or damaged.
        const std::uint32_t how = bad ? below(weather_.checked ? 4 : 3) : 4;
        if (how != 1) frames.pop_front();
        if (how == 0) return;
        if (how == 2) return frames.push_back(packet);
        if (how == 3) packet[below(static_cast<std::uint32_t>(packet.size()))] ^= std::byte{4};
        End& end = *ends_[to];
        ++arrived;
        RxFrame frame{packet, PeerId{}, weather_.checked ? Integrity::check : Integrity::intact};
        frame.after_overrun = bad && below(2) == 0;
        frame.marked = marks_.chance(0.02);
        met_predicting += end.engine.predicting() ? 1U : 0U;
        const RxVerdict verdict = end.engine.on_frame(now_, frame);
        note("verdict", static_cast<int>(verdict));
        accepted += verdict == RxVerdict::accepted ? 1 : 0;
        draw(end);
    }
    /// False: nothing more is drawn, as after a handler that throws an exception.
    bool hand_over(End& end, const Connection::ShortMessage& message) {
        note(message.is_request ? "request" : "reply", static_cast<unsigned>(message.handler),
             digest(message.arguments()));
        if (message.is_request) {
            answer(end, message.arguments());
        } else if (happens(weather_.again)) {
            const bool alone = end.engine.would_leave_single();
            note("again", alone);
            now_ = now_ + Duration::nanoseconds(below(2) * 500);
            if (alone) leave<Channel::request>(end, HandlerId(1), next_message());
            asked_again += alone ? 1U : 0U;
        }
        meddle(end);
        return !happens(weather_.meddles / 10);
    }
    /// The ways differ only in how a message is drawn.
    static std::optional<Connection::ShortMessage> message_of(const Delivery& delivery) {
        const auto plain = [](HandlerId handler, bool is_request, ConstBytes words) {
            return Connection::ShortMessage{handler, is_request, words.data(), words.size()};
        };
        if (const auto* request = std::get_if<Request>(&delivery)) {
            return plain(request->handler, true, request->arguments);
        }
        if (const auto* reply = std::get_if<Reply>(&delivery)) {
            return plain(reply->handler, false, reply->arguments);
        }
        return std::nullopt;
    }
    /// Draws as a front does.
    void draw(End& end) {
        while (true) {
            while (const auto* message = end.engine.take_message()) {
                if (!hand_over(end, *message)) return;
            }
            if (end.engine.nothing_drawn()) return;
            const auto delivery = end.engine.next_delivery();
            if (!delivery) return;
            if (const auto message = message_of(*delivery)) {
                if (!hand_over(end, *message)) return;
                continue;
            }
            const std::string said = text(*delivery);
            note("delivery", digest(std::as_bytes(std::span(said))));
            meddle(end);
        }
    }
    /// What a front may do before all deliveries are drawn: it sends an answer, or what a handler
    /// asks for.
    void meddle(End& end) {
        if (!happens(weather_.meddles)) return;
        if (below(2) == 0) {
            const bool alone = end.engine.would_leave_single();
            note("alone", alone);
            ask(end);
            if (!alone) return;
        }
        send(end);
    }
    void answer(End& end, ConstBytes arguments) {
        const Packet copy(arguments.begin(), arguments.end());
        if (happens(weather_.in_turn)) return leave<Channel::reply>(end, HandlerId(2), copy);
        const std::uint32_t how = below(16);
        if (how < 6 && happens(weather_.unusual)) {
            note("refuse", static_cast<int>(end.engine.refuse(HandlerId(7))));
        } else if (how < 9) {
            leave<Channel::reply>(end, HandlerId(2), copy);
            if (how == 8) leave<Channel::reply>(end, HandlerId(2), copy);  // this is not allowed
        } else if (how < 12) {
            note("answer", static_cast<int>(end.engine.reply(HandlerId(2), copy)));
        }
    }

    Random random_;
    Random marks_;  // whether a router marks the frame that arrives
    Weather weather_;
    bool fast_;
    std::array<std::deque<Packet>, 2> on_way_;  // for each sender
    std::vector<std::unique_ptr<End>> ends_;
    Instant now_{Duration::milliseconds(1)};
    std::uint32_t asked_ = 0;
};

}  // namespace wireproof::am::test::ways
