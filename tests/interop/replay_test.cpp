// Replays captures of Soft-RoCE. The requests of one side go into our responder, which must answer
// as the other side did: with the same opcode, PSN, syndrome and MSN, and with the same bytes if
// the memory is known. Where Linux differs from the specification, this file names the difference,
// and our responder follows the specification.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <sstream>

#include "tests/interop/rocev2_captures.hpp"

#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::test {
namespace {

using namespace proto::ib;

constexpr std::uint32_t domain = 1;

/// What the program that made most captures wrote about its server.
struct Server {
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::size_t length = 0;
    Psn first = {};  // first PSN of the client's requests
};

std::optional<Server> server_of(const std::string& capture) {
    std::string base = capture.substr(0, capture.find(".at_server"));
    std::ifstream text(rocev2_folder() / (base + ".txt"));
    std::optional<Server> server;
    for (std::string line; std::getline(text, line);) {
        const auto words_behind = [&line](const std::string& mark) {
            std::vector<std::string> words;
            const auto at = line.find(mark);
            if (at == std::string::npos) return words;
            std::istringstream rest(line.substr(at + mark.size()));
            for (std::string word; rest >> word;) words.push_back(word);
            return words;
        };
        const auto number = [](const std::string& word) { return std::stoull(word, nullptr, 16); };
        if (const auto local = words_behind("server local "); local.size() == 7) {
            server = Server{number(local[4]), static_cast<std::uint32_t>(number(local[5])),
                            number(local[6])};
        }
        if (const auto remote = words_behind("server remote "); server && remote.size() == 7) {
            server->first = Psn(static_cast<std::uint32_t>(number(remote[2])));
        }
    }
    return server;
}

/// The compared facts of a packet: "READ Resp Only fffffa 1f/3".
std::string told(const Packet& packet) {
    std::ostringstream text;
    const Aeth& aeth = packet.headers.aeth;
    text << packet.opcode->name << " " << std::hex << packet.bth().psn.value();
    if (packet.opcode->has(Extended::aeth)) {
        text << " " << unsigned{aeth.syndrome.byte} << "/" << std::dec << aeth.msn.value();
    }
    return text.str();
}

struct Answered {
    std::vector<std::string> answers;
    std::vector<std::vector<std::byte>> contents;  // payload, or an Atomic's original value
    std::vector<Psn> psns;
    std::vector<Completion> received;
};

std::vector<std::byte> content(const Packet& packet) {
    std::vector<std::byte> bytes(packet.payload.begin(), packet.payload.end());
    if (packet.opcode->verb == Verb::atomic_acknowledge) {
        const std::uint64_t value = packet.headers.atomic_ack.original;
        const auto raw = std::as_bytes(std::span(&value, 1));
        bytes.assign(raw.begin(), raw.end());
    }
    return bytes;
}

/// A responder that is set up like the captured one.
class Replay {
public:
    static constexpr std::size_t receive_length = 16384;
    static constexpr std::size_t receives_at = 1 << 20;

    Replay(const Capture& capture, Transport transport, Psn first, std::uint32_t number)
        : memory_(2 << 20), port_({.path_mtu = 4096}), number_(number) {
        const std::map<std::string, std::size_t> mtus = {
            {"rc_mtu256", 256}, {"uc_mtu256", 256}, {"uc_mtu4096", 4096}};
        const auto mtu = mtus.find(capture.name);
        completions_ = port_.add_completion_queue(256);
        EXPECT_TRUE(port_.add_queue_pair({.transport = transport,
                                          .number = number,
                                          .domain = domain,
                                          .send_completions = completions_,
                                          .receive_completions = completions_}));
        own_ = port_.memory()
                   .add_region({.domain = domain, .memory = memory_, .access = {true}})
                   .value();
        modify(
            {.state = QueuePairState::init,
             .partition_index = std::uint16_t{0},
             .port = std::uint8_t{1},
             .access = Access{.remote_write = true, .remote_read = true, .remote_atomic = true}});
        QueuePairChange to_rtr{.state = QueuePairState::rtr,
                               .address = PeerId{},
                               .path_mtu = mtu == mtus.end() ? 1024 : mtu->second,
                               .dest_queue_pair = 9U,
                               .receive_psn = first};
        if (transport == Transport::rc) {
            to_rtr.max_dest_rd_atomic = std::uint8_t{128};
            to_rtr.min_rnr_timer = std::uint8_t{18};
        }
        modify(to_rtr);
    }

    void modify(const QueuePairChange& change) {
        EXPECT_EQ(port_.modify(number_, change), ModifyStatus::done);
    }

    /// Adds memory that the peer knows under that key.
    void add_memory(std::uint64_t address, std::uint32_t rkey, std::size_t length) {
        regions_.emplace_back(length);
        keys_[rkey] = port_.memory()
                          .add_region({.domain = domain,
                                       .address = address,
                                       .memory = regions_.back(),
                                       .access = {true, true, true, true, false}})
                          .value();
    }
    std::vector<std::byte>& last_memory() { return regions_.back(); }

    void receive(std::size_t length = receive_length) {
        const Piece piece{receives_at + posted_ * receive_length,
                          static_cast<std::uint32_t>(length), own_};
        const ReceiveRequest request{.id = posted_++, .pieces = std::span(&piece, 1)};
        EXPECT_EQ(port_.post_receive(number_, request), PostStatus::accepted);
    }
    std::vector<std::byte> received(std::uint64_t id, std::size_t length) const {
        const auto at =
            memory_.begin() + static_cast<std::ptrdiff_t>(receives_at + id * receive_length);
        return {at, at + static_cast<std::ptrdiff_t>(length)};
    }

    /// Gives one request to the responder and keeps its answers.
    void give(const Packet& packet) {
        Headers headers = packet.headers;
        for (std::uint32_t* rkey : {&headers.reth.rkey, &headers.atomic.rkey}) {
            const auto known = keys_.find(*rkey);
            *rkey = known == keys_.end() ? 0xFFFFFF00 : known->second;
        }
        std::vector<std::byte> room(packet_max(4096));
        TxFrame frame;
        frame.open(room, {.frame_max = room.size()});
        encode(headers, std::span(&packet.payload, 1), frame);
        std::vector<std::byte> bytes(frame.size());
        frame.gather(bytes);
        port_.on_frame({}, {.bytes = bytes, .integrity = Integrity::intact});
        for (;;) {
            frame.open(room, {.frame_max = room.size()});
            if (!port_.poll_transmit({}, frame)) break;
            std::vector<std::byte> answer(frame.size());
            frame.gather(answer);
            const Packet decoded = Packet::decode({.bytes = answer}).value();
            result.answers.push_back(told(decoded));
            result.contents.push_back(content(decoded));
            result.psns.push_back(decoded.bth().psn);
        }
        while (const auto completion = port_.poll(completions_)) {
            result.received.push_back(*completion);
        }
    }

    Answered result;

private:
    std::vector<std::byte> memory_;
    std::deque<std::vector<std::byte>> regions_;
    std::map<std::uint32_t, std::uint32_t> keys_;  // our keys by the captured ones
    Port port_;
    std::uint32_t number_;
    CompletionQueueId completions_{};
    std::uint32_t own_ = 0;
    std::uint64_t posted_ = 0;
};

/// One direction of requests in a capture. A connection has two directions.
struct Way {
    std::vector<const CapturedRocev2*> requests;
    std::vector<const CapturedRocev2*> answers;  // to these requests
};

std::array<Way, 2> ways_of(const Capture& capture) {
    std::array<Way, 2> ways;
    std::optional<Address> one;
    for (const CapturedRocev2& captured : capture.packets) {
        const Packet packet = captured.packet();
        if (packet.bth().dest_qp == 1 || !captured.datagram().icrc_right()) continue;
        Address from = captured.datagram().from;
        from.port = 0;
        if (!one) one = from;
        const std::size_t sender = from == *one ? 0 : 1;
        if (packet.opcode->is_response()) {
            ways[1 - sender].answers.push_back(&captured);
        } else {
            ways[sender].requests.push_back(&captured);
        }
    }
    return ways;
}

/// Adds the memory that the requests name, if nobody wrote down the keys of the peer.
void add_named_memory(Replay& replay, const Way& way) {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> named;
    for (const CapturedRocev2* captured : way.requests) {
        const Packet packet = captured->packet();
        const auto add = [&named](std::uint32_t rkey, std::uint64_t from, std::uint64_t to) {
            auto& range = named.try_emplace(rkey, from, to).first->second;
            range = {std::min(range.first, from), std::max(range.second, to)};
        };
        const Reth& reth = packet.headers.reth;
        const AtomicEth& atomic = packet.headers.atomic;
        if (packet.opcode->has(Extended::reth)) {
            add(reth.rkey, reth.address, reth.address + reth.length);
        }
        if (packet.opcode->has(Extended::atomic)) {
            add(atomic.rkey, atomic.address, atomic.address + 8);
        }
    }
    for (const auto& [rkey, range] : named) {
        replay.add_memory(range.first, rkey, range.second - range.first);
    }
}

constexpr std::size_t word_at = 0x7f000;

void fill_as_the_generator_did(std::vector<std::byte>& memory) {
    for (std::size_t k = 0; k < memory.size(); ++k) {
        memory[k] = static_cast<std::byte>(7 * k + 31 * (k >> 8) + 0x80);
    }
    const std::uint64_t word = 0x1122334455667788;
    if (memory.size() > word_at + 8) std::memcpy(&memory[word_at], &word, sizeof word);
}

std::vector<std::byte> payload_of(std::size_t operation, std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t k = 0; k < length; ++k) {
        bytes[k] = static_cast<std::byte>(7 * k + 31 * (k >> 8) + 13 * operation + 1);
    }
    return bytes;
}

Replay replay_of(const Capture& capture, const Way& way) {
    const Packet first = way.requests.at(0)->packet();
    const auto server = server_of(capture.name);
    Replay replay(capture, first.opcode->transport(), server ? server->first : first.bth().psn,
                  first.bth().dest_qp);
    if (server) {
        replay.add_memory(server->address, server->rkey, server->length);
        fill_as_the_generator_did(replay.last_memory());
    } else {
        add_named_memory(replay, way);
    }
    return replay;
}

Answered answers_captured(const Way& way) {
    Answered captured;
    for (const CapturedRocev2* one : way.answers) {
        captured.answers.push_back(told(one->packet()));
        captured.contents.push_back(content(one->packet()));
    }
    return captured;
}

bool is_superseded(const Capture& capture, const std::vector<Capture>& all) {
    return std::ranges::any_of(
        all, [&](const Capture& other) { return other.name == capture.name + ".at_server"; });
}

// Differences of Linux, by their names in docs/rules/ib.md (Where Soft-RoCE differs).
void depart_r1(Answered& captured) {  // Linux calls a too long Send an operational error
    ASSERT_EQ(captured.answers, std::vector<std::string>{"Acknowledge fffffb 63/0"});
    captured.answers = {"Acknowledge fffffb 61/0"};
}
void depart_r2(Answered& captured) {  // Linux sends a sequence NAK after each RNR NAK
    std::size_t dropped = 0;
    for (std::size_t i = captured.answers.size(); i-- > 1;) {
        if (captured.answers[i] != "Acknowledge fffffb 60/1") continue;
        captured.answers.erase(captured.answers.begin() + static_cast<std::ptrdiff_t>(i));
        captured.contents.erase(captured.contents.begin() + static_cast<std::ptrdiff_t>(i));
        ++dropped;
    }
    ASSERT_EQ(dropped, 6U);
}
void depart_r3(Answered& captured) {  // Linux begins a replayed tail with a Middle
    ASSERT_EQ(captured.answers.at(6), "READ Resp Middle 11");
    captured.answers[6] = "READ Resp First 11 1f/1";
}

// RC-32
TEST(Replay, EveryCapturedRcRequestIsAnsweredAsLinuxDidButForNamedDepartures) {
    const std::map<std::string, std::function<void(Answered&)>> departures = {
        {"rc_nak_long_send", depart_r1},
        {"rc_rnr", depart_r2},
        {"rc_drop_read_response.at_server", depart_r3},
    };
    const std::vector<Capture> all = all_captures();
    std::size_t ways = 0;
    std::size_t answers = 0;
    for (const Capture& capture : all) {
        if (is_superseded(capture, all) || capture.name == "rc_retry_exceeded") continue;
        for (const Way& way : ways_of(capture)) {
            if (way.requests.empty()) continue;
            if (way.requests[0]->packet().opcode->transport() != Transport::rc) continue;
            SCOPED_TRACE(capture.name);
            Replay replay = replay_of(capture, way);
            const bool waits = capture.name == "rc_rnr";
            const bool short_receive = capture.name == "rc_nak_long_send";
            for (int i = 0; i < (waits ? 1 : 32); ++i) {
                replay.receive(short_receive ? 1500 : Replay::receive_length);
            }
            std::size_t not_ready = 0;
            for (const CapturedRocev2* one : way.requests) {
                const std::size_t before = replay.result.answers.size();
                replay.give(one->packet());
                if (!waits || replay.result.answers.size() == before) continue;
                if (replay.result.answers.back() != "Acknowledge fffffb 32/1") continue;
                if (++not_ready < 6) continue;
                replay.receive();
                replay.receive();
            }
            Answered captured = answers_captured(way);
            if (const auto departure = departures.find(capture.name);
                departure != departures.end()) {
                departure->second(captured);
            }
            EXPECT_EQ(replay.result.answers, captured.answers);
            if (server_of(capture.name)) {
                EXPECT_EQ(replay.result.contents, captured.contents);
            }
            ++ways;
            answers += captured.answers.size();
        }
    }
    EXPECT_EQ(ways, 26U);
    EXPECT_EQ(answers, 159U);
}

/// A requester that completes requests of one packet as Soft-RoCE does. An answer completes all
/// Sends and Writes before its PSN. For a Read or an Atomic only the PSN counts: an answer with a
/// later PSN makes the requester repeat the request, and an answer with its own PSN completes it,
/// even without data.
class SoftRoceRequester {
public:
    struct Outstanding {
        Packet request;
        bool data = false;  // true: a Read or an Atomic
        std::optional<std::vector<std::byte>> content = {};
    };

    explicit SoftRoceRequester(const std::vector<const CapturedRocev2*>& requests) {
        for (const CapturedRocev2* one : requests) {
            const Packet packet = one->packet();
            const auto repeats = [&](const Outstanding& known) {
                return known.request.bth().psn == packet.bth().psn;
            };
            if (std::ranges::any_of(outstanding_, repeats)) continue;
            const Verb verb = packet.opcode->verb;
            outstanding_.push_back({packet, verb != Verb::send && verb != Verb::write});
        }
    }

    bool done() const { return next_ == outstanding_.size(); }
    /// The oldest incomplete request, which the requester sends again.
    const Packet& ask() const { return outstanding_[next_].request; }
    const std::vector<Outstanding>& all() const { return outstanding_; }

    void take(Psn psn, const std::vector<std::byte>& content) {
        for (; !done(); ++next_) {
            Outstanding& oldest = outstanding_[next_];
            const std::int64_t ahead = difference(psn, oldest.request.bth().psn);
            if (ahead < 0 || (ahead > 0 && oldest.data)) return;
            if (ahead == 0) oldest.content = content;
        }
    }

private:
    std::vector<Outstanding> outstanding_;
    std::size_t next_ = 0;
};

// RC-4: both the acknowledgement of a Send and the answer to the next request were lost.
TEST(Replay, SoftRoceGetsTheDataOfAReadOrAnAtomicWhoseAnswerWasLost) {
    const std::map<std::string, std::vector<std::string>> expected = {
        {"live/f1_lostboth", {"Acknowledge 10 1f/2", "READ Resp Only 11 1f/2"}},
        {"live/f1_lostboth_faa", {"Acknowledge 10 1f/2", "Atomic Ack 11 1f/2"}}};
    for (const auto& [name, answers] : expected) {
        SCOPED_TRACE(name);
        const Capture capture = Capture::named(name);
        const Way way = ways_of(capture)[0];
        Replay replay = replay_of(capture, way);
        fill_as_the_generator_did(replay.last_memory());
        const std::vector<std::byte> before = replay.last_memory();
        replay.receive();
        SoftRoceRequester peer(way.requests);
        ASSERT_EQ(peer.all().size(), 2U);
        ASSERT_TRUE(peer.all()[1].data);
        for (const auto& one : peer.all()) replay.give(one.request);
        replay.result = {};  // the answers are lost
        std::vector<Psn> asked;
        for (int timeouts = 0; timeouts < 8 && !peer.done(); ++timeouts) {
            asked.push_back(peer.ask().bth().psn);
            const std::size_t known = replay.result.answers.size();
            replay.give(peer.ask());
            for (std::size_t i = known; i < replay.result.answers.size(); ++i) {
                peer.take(replay.result.psns[i], replay.result.contents[i]);
            }
        }
        EXPECT_TRUE(peer.done());
        EXPECT_EQ(asked, (std::vector{Psn(0x10), Psn(0x11)}));
        EXPECT_EQ(replay.result.answers, answers);
        const std::size_t length = peer.all()[1].request.opcode->has(Extended::reth) ? 100 : 8;
        EXPECT_EQ(
            peer.all()[1].content,
            std::vector(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(length)));
    }
}

struct Delivered {
    std::size_t operation;
    std::size_t length;
};

/// Checks which Sends of a UC capture arrive, each with the content of that operation.
void expect_delivered(const std::string& name, const std::vector<Delivered>& expected) {
    SCOPED_TRACE(name);
    const Capture capture = Capture::named(name);
    const Way way = ways_of(capture)[0];
    Replay replay = replay_of(capture, way);
    for (int i = 0; i < 32; ++i) replay.receive();
    for (const CapturedRocev2* one : way.requests) replay.give(one->packet());
    EXPECT_TRUE(replay.result.answers.empty());
    ASSERT_EQ(replay.result.received.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Completion& completion = replay.result.received[i];
        EXPECT_EQ(completion.status, CompletionStatus::success);
        EXPECT_EQ(completion.length, expected[i].length);
        EXPECT_EQ(replay.received(completion.id, completion.length),
                  payload_of(expected[i].operation, expected[i].length));
    }
}

// UC-29: after the loss Linux also drops send:100 (U1). The specification delivers it.
TEST(Replay, AfterALossOnUcTheNextMessageIsDelivered) {
    expect_delivered("uc_drop_middle.at_server", {{1, 100}, {3, 2048}});
    expect_delivered("uc_drop_middle", {{0, 4096}, {1, 100}, {3, 2048}});
}

// UC-29
TEST(Replay, ForbiddenWritesOnUcLeaveTheSendsBetweenThemAlone) {
    expect_delivered("uc_errors_silent", {{1, 20}, {3, 21}});
}

TEST(Replay, EveryUcSendOfLinuxArrives) {
    expect_delivered("uc_send", {{0, 0},
                                 {1, 1},
                                 {2, 2},
                                 {3, 3},
                                 {4, 4},
                                 {5, 100},
                                 {6, 1024},
                                 {7, 1025},
                                 {8, 2048},
                                 {9, 3500},
                                 {10, 17},
                                 {11, 4096},
                                 {12, 5001}});
    expect_delivered("uc_mtu256", {{0, 1000}, {2, 256}, {3, 257}});
    expect_delivered("uc_mtu4096", {{0, 9000}, {2, 4096}});
}

}  // namespace
}  // namespace wireproof::test
