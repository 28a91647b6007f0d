// For tests: two connections whose frames the test carries by hand (world_test_kit.hpp: by a bad
// wire). Frames and deliveries are compared as short text. Its numbers are positions, counted from
// the first number of the session, which is just before the wrap.
//
//      "OPEN 0 | CHUNK 1.0..35 | REQ 37*"      packets 0 to 35 of the chunk at 1; * was sent before
//      "NACK 3 <4 [011]"                       expects 3; caused by 3 + 4; 4 and 5 have arrived
//      "CHUNK/r", "NACK/r", "KEEPALIVE/r"      of the reply channel
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/proto/am/config_test_kit.hpp"
#include "wireproof/proto/am/twin_test_kit.hpp"

namespace wireproof {
inline void PrintTo(RxVerdict verdict, std::ostream* out) {
    *out << name_of(verdict);
}
}  // namespace wireproof

namespace wireproof::am::test {

inline std::vector<std::byte> words(const std::vector<std::uint32_t>& values) {
    std::vector<std::byte> bytes(values.size() * 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
        store_le<std::uint32_t>(Bytes(bytes).subspan(i * 4).first<4>(), values[i]);
    }
    return bytes;
}

/// Bytes that differ from place to place, so that a test notices a wrong place.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed = 1) {
    std::vector<std::byte> bytes(size);
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return bytes;
}

inline bool same(ConstBytes left, ConstBytes right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

struct Frame {
    std::vector<std::byte> bytes;
    Header header;
    bool resent = false;
    bool marked = false;  // in a World: by a router
};
using Frames = std::vector<Frame>;
using Log = std::vector<std::string>;
using Verdicts = std::vector<RxVerdict>;

inline std::string text(ConstBytes arguments) {
    std::string out = "(";
    for (std::size_t i = 0; i + 4 <= arguments.size(); i += 4) {
        out += (i > 0 ? "," : "") +
               std::to_string(load_le<std::uint32_t>(arguments.subspan(i).first<4>()));
    }
    return out + ")";
}

inline std::string text(HandlerId handler, ConstBytes arguments) {
    return std::to_string(static_cast<unsigned>(handler)) + text(arguments);
}

inline std::string text(Reason reason) {
    constexpr std::array<const char*, 3> names = {"", " no_handler", " forbidden"};
    return names.at(static_cast<std::size_t>(reason));
}

inline std::string text(const FateUnknown& fate) {
    using What = FateUnknown::What;
    switch (fate.what) {
        case What::request: return "FATE REQ " + text(fate.handler, fate.arguments);
        case What::reply: return "FATE REP " + text(fate.handler, fate.arguments);
        case What::store: return "FATE STORE " + std::to_string(fate.tag);
        case What::get: return "FATE GET " + std::to_string(fate.tag);
    }
    return {};
}

inline std::string text(const Delivery& delivery) {
    struct Text {
        std::string operator()(const Request& d) { return "REQ " + text(d.handler, d.arguments); }
        std::string operator()(const Reply& d) { return "REP " + text(d.handler, d.arguments); }
        std::string operator()(const Stored& d) {
            return "STORED " + text(d.handler, words({d.argument})) + " " +
                   std::to_string(d.memory.size());
        }
        std::string operator()(const StoreEnded& d) {
            return "STORE_ENDED " + std::to_string(d.tag) + text(d.reason);
        }
        std::string operator()(const GetEnded& d) {
            return "GET_ENDED " + std::to_string(d.tag) + text(d.reason);
        }
        std::string operator()(const Refused& d) {
            return "REFUSED " + std::to_string(static_cast<unsigned>(d.handler)) + text(d.reason);
        }
        std::string operator()(const SessionBegan&) { return "BEGAN"; }
        std::string operator()(const FateUnknown& d) { return text(d); }
        std::string operator()(const SessionEnded& d) {
            constexpr std::array<const char*, 4> names = {"silent", "restarted", "gone",
                                                          "unanswered"};
            const std::string size =
                d.packet_bytes > 0 ? " " + std::to_string(d.packet_bytes) : std::string();
            return std::string("ENDED ") + names.at(static_cast<std::size_t>(d.why)) + size +
                   (d.by_peer ? " by peer" : "");
        }
    };
    return std::visit(Text{}, delivery);
}

/// One end: a connection, memory that its peer may access (with guards around it), and a log of
/// deliveries.
class Node {
public:
    static constexpr std::uint64_t base = 0x100000;  // the peer's address of this memory
    static constexpr std::size_t guard = 256;

    Node(const Config& config, std::size_t memory)
        : engine(config, table), arena_(memory + 2 * guard, std::byte{0xA5}) {
        std::fill(this->memory().begin(), this->memory().end(), std::byte{0});
        EXPECT_TRUE(table.add(base, this->memory(), {.read = true, .write = true}));
    }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    Bytes memory() { return Bytes(arena_).subspan(guard, arena_.size() - 2 * guard); }

    /// Nothing was written outside the memory.
    bool guards_intact() const {
        const auto intact = [](std::byte byte) { return byte == std::byte{0xA5}; };
        const auto size = static_cast<std::ptrdiff_t>(guard);
        return std::all_of(arena_.begin(), arena_.begin() + size, intact) &&
               std::all_of(arena_.end() - size, arena_.end(), intact);
    }

    RxVerdict give(Instant now, ConstBytes bytes, Integrity integrity = Integrity::check) {
        return give(now, RxFrame{.bytes = bytes, .integrity = integrity, .lent = {}});
    }
    RxVerdict give(Instant now, const RxFrame& frame) {
        const RxVerdict verdict = engine.on_frame(now, frame);
        draw();
        return verdict;
    }

    void draw() {
        while (const auto delivery = engine.next_delivery()) {
            log.push_back(text(*delivery));
            if (handler) handler(*delivery);
        }
    }

    /// Frames that leave now, at most so many.
    Frames take(Instant now, std::size_t most = 100'000) {
        Frames frames;
        room_.resize(engine.config().packet_max);
        for (TxFrame out; frames.size() < most;) {
            out.open(room_,
                     {.frame_max = room_.size(), .prefers_equal_sizes = prefers_equal_sizes});
            const bool quiet = engine.quiet();
            const bool small = engine.config().window[0] < 64;  // a large window is slow to compare
            const auto before = quiet && small ? fingerprint(now) : Fingerprint::Value{};
            const bool left = engine.poll_transmit(now, out);
            // A quiet engine has no frame, and poll_transmit() changes nothing.
            EXPECT_FALSE(quiet && left);
            EXPECT_TRUE(!quiet || !small || fingerprint(now) == before);
            if (!left) break;
            Frame frame;
            frame.bytes.resize(out.size());
            out.gather(frame.bytes);
            frame.header = decode(engine.config().layout, frame.bytes).value();
            frame.resent = out.resent();
            frames.push_back(std::move(frame));
        }
        return frames;
    }

    Log take_log() { return std::exchange(log, {}); }

    Fingerprint::Value fingerprint(Instant now) const {
        Fingerprint sink;
        engine.fingerprint(now, sink);
        return sink.value();
    }

    MemoryTable table;
    Twin engine;
    Log log;
    std::function<void(const Delivery&)> handler;  // what the user does with a delivery
    bool prefers_equal_sizes = false;              // of the lane to the peer

private:
    std::vector<std::byte> arena_;
    std::vector<std::byte> room_;  // for a frame that leaves
};

struct Pair {
    explicit Pair(const Config& of_a) : Pair(of_a, roomy(of_a)) {}
    Pair(const Config& of_a, std::size_t memory) : Pair(of_a, mirrored(of_a), memory) {}
    Pair(const Config& of_a, const Config& of_b, std::size_t memory)
        : config(of_a), a(of_a, memory), b(of_b, memory) {}

    /// Bytes of the memory, enough for a store of several chunks.
    static std::size_t roomy(const Config& config) {
        return std::max<std::size_t>(65'536, config.open_bytes + 7 * config.chunk_bytes());
    }
    static Config mirrored(Config other_end) {
        std::swap(other_end.node, other_end.peer);
        other_end.seed += 1000;
        return other_end;
    }

    Node& other(Node& node) { return &node == &a ? b : a; }

    std::string taken(Node& from) { return text(from.take(now)); }
    RxVerdict give(Node& to, const Frame& frame) { return to.give(now, frame.bytes); }
    /// As if the host had no room for the frames before this one.
    RxVerdict give_after_overrun(Node& to, const Frame& frame) {
        return to.give(now, RxFrame{.bytes = frame.bytes, .lent = {}, .after_overrun = true});
    }
    /// As if a router had marked it.
    RxVerdict give_marked(Node& to, const Frame& frame) {
        return to.give(now, RxFrame{.bytes = frame.bytes, .lent = {}, .marked = true});
    }
    Verdicts give(Node& to, const Frames& frames) {
        Verdicts verdicts;
        for (const Frame& frame : frames) verdicts.push_back(give(to, frame));
        return verdicts;
    }

    /// Takes all frames that leave one end now, and gives them to the other.
    std::string carry(Node& from) {
        const Frames frames = from.take(now);
        give(other(from), frames);
        return text(frames);
    }

    /// Carries frames both ways until neither end sends any; returns the number carried.
    std::size_t settle() {
        std::size_t carried = 0;
        for (Frames frames; carried < 1'000'000;) {
            const std::size_t before = carried;
            for (Node* from : {&a, &b}) {
                frames = from->take(now);
                give(other(*from), frames);
                carried += frames.size();
            }
            if (carried == before) break;
        }
        return carried;
    }

    /// Carries each frame so many times until node 0 is idle, but loses frame number `lost`.
    void finish_without(std::size_t lost, std::size_t copies = 1) {
        std::size_t count = 0;
        for (int turn = 0; turn < 200 && !a.engine.idle(); ++turn) {
            bool moved = false;
            for (Node* from : {&a, &b}) {
                for (const Frame& frame : from->take(now)) {
                    moved = true;
                    if (count++ == lost) continue;
                    for (std::size_t i = 0; i < copies; ++i) give(other(*from), frame);
                }
            }
            if (!moved) wait_for_timer();
        }
    }

    void wait(Duration time) {
        now = now + time;
        for (Node* node : {&a, &b}) {
            if (node->engine.next_deadline() <= now) node->engine.on_deadline(now);
            node->draw();
        }
    }

    /// Waits for the next timer of either end.
    void wait_for_timer() {
        const Instant next = std::min(a.engine.next_deadline(), b.engine.next_deadline());
        ASSERT_NE(next, never);
        wait(next > now ? next - now : Duration{});
    }

    /// Waits for the next timer of one end. Frames that the other end's timers send meanwhile are
    /// lost.
    void wait_for_timer_of(Node& node) {
        const Instant until = node.engine.next_deadline();
        ASSERT_NE(until, never);
        for (Node& peer = other(node); peer.engine.next_deadline() < until; peer.take(now)) {
            now = std::max(now, peer.engine.next_deadline());
            peer.engine.on_deadline(now);
            peer.draw();
        }
        wait(until > now ? until - now : Duration{});
    }

    std::uint64_t position(Channel channel, std::uint32_t wire_number) const {
        const std::uint32_t first = config.first_number[static_cast<std::size_t>(channel)];
        return (std::uint64_t{wire_number} + config.modulus - first) % config.modulus;
    }
    /// The number at this position.
    std::uint32_t number(Channel channel, std::int64_t at) const {
        const auto modulus = static_cast<std::int64_t>(config.modulus);
        const std::int64_t first = config.first_number[static_cast<std::size_t>(channel)];
        return static_cast<std::uint32_t>(((first + at) % modulus + modulus) % modulus);
    }

    std::string text(const Frames& frames) const;

    /// The same frame with another header and the right checksum.
    Frame forged(Frame frame, const std::function<void(Header&)>& change) const {
        change(frame.header);
        return sealed(frame);
    }
    Frame sealed(Frame frame) const {
        const std::size_t size = config.header_size();
        const Bytes head = Bytes(frame.bytes).first(size);
        encode(frame.header, config.layout, head);
        const ConstBytes behind = ConstBytes(frame.bytes).subspan(size);
        const ConstBytes data =
            behind.first(behind.size() - std::min<std::size_t>(behind.size(), frame.header.filler));
        store_checksum(config.layout, head, checksum(config.layout, head, data));
        return frame;
    }

    Config config;
    Instant now{Duration::milliseconds(1)};
    Node a;  // node 0
    Node b;  // node 1
};

inline std::string text_of_nack(ConstBytes data) {
    if (data.size() < NackBody::size) return "";
    std::string out = " <" + std::to_string(NackBody::decode(data.first<NackBody::size>()).end);
    std::string map;
    for (std::size_t i = 0; i < (data.size() - NackBody::size) * 8; ++i) {
        const std::byte byte = data[NackBody::size + i / 8];
        map += ((byte >> (i % 8)) & std::byte{1}) != std::byte{0} ? '1' : '0';
    }
    map.resize(map.find_last_of('1') + 1);
    return map.empty() ? out : out + " [" + map + "]";
}

inline std::string Pair::text(const Frames& frames) const {
    struct Piece {
        std::string before;
        std::uint64_t first, last;
        std::string after;
        bool runs;
    };
    std::vector<Piece> pieces;
    for (const Frame& frame : frames) {
        const Header& h = frame.header;
        Piece piece{std::string(describe_of(config.layout)(frame.bytes).kind), 0, 0,
                    frame.resent ? "*" : "", is_numbered(h.kind) && h.kind != Kind::bundle};
        if (h.channel == Channel::reply && h.kind != Kind::reply) piece.before += "/r";
        piece.before += " ";
        piece.first = position(h.channel, h.number);
        if (h.kind == Kind::chunk) {
            piece.before += std::to_string(piece.first) + ".";
            piece.first = h.offset % config.chunk_bytes() / config.data_max();
        } else if (h.kind == Kind::nack) {
            piece.after = text_of_nack(ConstBytes(frame.bytes).subspan(config.header_size()));
        } else if (h.kind == Kind::ack) {
            piece.first = position(Channel::request, h.ack[0]);
            piece.after = " " + std::to_string(position(Channel::reply, h.ack[1]));
        } else if (h.kind == Kind::unknown) {
            piece.first = 0;
        } else if (h.kind == Kind::keepalive || h.kind == Kind::hello) {
            piece.first = h.kind == Kind::hello ? h.count : h.round;
        }
        piece.last = piece.first + (h.kind == Kind::bundle ? h.count - 1U : 0U);
        if (piece.runs && !pieces.empty() && pieces.back().before == piece.before &&
            pieces.back().after == piece.after && pieces.back().last + 1 == piece.first) {
            pieces.back().last = piece.first;
        } else {
            pieces.push_back(piece);
        }
    }
    std::string out;
    for (const Piece& piece : pieces) {
        out += (out.empty() ? "" : " | ") + piece.before + std::to_string(piece.first);
        if (piece.last != piece.first) out += ".." + std::to_string(piece.last);
        out += piece.after;
    }
    return out;
}

/// The verdict on a packet that is ahead of the expected one.
inline RxVerdict ahead(const Config& config) {
    return config.recovery == Recovery::selective ? RxVerdict::held : RxVerdict::out_of_sequence;
}

/// The text of a NACK: only in selective recovery it says more than the expected number.
inline std::string nack(const Config& config, std::uint64_t expected, const std::string& more) {
    const std::string text = "NACK " + std::to_string(expected);
    return config.recovery == Recovery::selective ? text + " " + more : text;
}

// The calls of users, each in one line.

inline PostStatus request(Node& node, std::uint16_t handler, std::vector<std::uint32_t> values) {
    return node.engine.request(HandlerId(handler), words(values));
}

/// As many requests as the connection accepts, of handler 1; the arguments count from `first`.
inline std::uint32_t requests(Node& node, std::uint32_t count, std::uint32_t first = 0) {
    for (std::uint32_t i = 0; i < count; ++i) {
        if (request(node, 1, {first + i}) != PostStatus::accepted) return i;
    }
    return count;
}

/// The frames of so many requests, each made in its own turn. So each has its own frame, even if
/// the messages of one turn would share a packet.
inline Frames one_a_turn(Node& node, Instant now, std::uint32_t count, std::uint32_t first = 0) {
    Frames frames;
    for (std::uint32_t i = 0; i < count; ++i) {
        requests(node, 1, first + i);
        for (Frame& frame : node.take(now)) frames.push_back(std::move(frame));
    }
    return frames;
}

/// The text of short messages that leave in one turn: a packet for each, or one for all.
inline std::string together(const Config& config, const std::string& kind, std::uint64_t first,
                            std::uint64_t last, const std::string& after = "") {
    std::string text = kind;
    if (config.bundle_max > 0 && last > first) text = kind == "REP" ? "BUNDLE/r" : "BUNDLE";
    text += " " + std::to_string(first);
    if (last > first) text += ".." + std::to_string(last);
    return text + after;
}

/// The bytes of a store with so many bytes in chunks: its OPEN carries the first ones.
inline std::size_t in_chunks(const Config& config, std::size_t bytes) {
    return config.open_bytes + bytes;
}

inline PostStatus store(Node& node, ConstBytes source, std::uint64_t tag = 1,
                        std::uint64_t offset = 0) {
    return node.engine.store({.address = Node::base + offset,
                              .source = source,
                              .handler = HandlerId(9),
                              .argument = 5,
                              .tag = tag});
}

inline PostStatus get(Node& node, Bytes destination, std::uint64_t tag = 1,
                      std::uint64_t offset = 0) {
    return node.engine.get(
        {.address = Node::base + offset, .destination = destination, .tag = tag});
}

/// Replies to every request and store, with handler 2 and the same arguments.
inline void reply_to_all(Node& node) {
    node.handler = [&node](const Delivery& delivery) {
        if (const auto* request = std::get_if<Request>(&delivery)) {
            EXPECT_EQ(node.engine.reply(HandlerId(2), request->arguments), PostStatus::accepted);
        } else if (std::holds_alternative<Stored>(delivery)) {
            EXPECT_EQ(node.engine.reply(HandlerId(2), {}), PostStatus::accepted);
        }
    };
}

}  // namespace wireproof::am::test
