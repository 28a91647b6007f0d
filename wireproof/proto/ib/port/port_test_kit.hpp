// For tests: two ports with one queue pair each, connected. The test moves the packets between
// them. The first PSNs are near the wrap.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "wireproof/proto/ib/packet/packet_test_kit.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::proto::ib::test {

inline constexpr std::uint32_t domain = 7;
inline constexpr PeerId other_end{3};
inline constexpr std::size_t test_mtu = 256;

struct PairSettings {
    Transport transport = Transport::uc;
    QueuePairConfig queue_pair = {};
    QueuePairChange connection = {};  // differences from connected()
    std::array<Psn, 2> first = {Psn(0xFFFFFE), Psn(0xFFFFFC)};
    std::size_t shared_receives = 0;  // 0: no shared queue
    PeerWindows::Config peer_window = {};
};

inline QueuePairChange to_init() {
    return {.state = QueuePairState::init,
            .partition_index = 0,
            .port = 1,
            .access = Access{.remote_write = true, .remote_read = true, .remote_atomic = true}};
}

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7 + i / 97);
    return bytes;
}

class End {
public:
    static constexpr std::uint64_t base = 0x10000;

    End(const PairSettings& settings, std::size_t side)
        : port({.path_mtu = 4096, .peer_window = settings.peer_window}), memory(65536) {
        sends = port.add_completion_queue(256);
        receives = port.add_completion_queue(256);
        QueuePairConfig config = settings.queue_pair;
        config.transport = settings.transport;
        config.domain = domain;
        config.send_completions = sends;
        config.receive_completions = receives;
        config.number = 0x100 + static_cast<std::uint32_t>(side);
        if (settings.shared_receives > 0) {
            shared = port.add_shared_receive_queue(domain, settings.shared_receives, 4);
            config.shared_receives = shared;
        }
        number = port.add_queue_pair(config).value();
        key = port.memory()
                  .add_region({.domain = domain,
                               .address = base,
                               .memory = memory,
                               .access = {true, true, true, true, true}})
                  .value();
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    ~End() = default;

    void modify(const QueuePairChange& change) {
        ASSERT_EQ(port.modify(number, change), ModifyStatus::done);
    }
    const QueuePairCounters& counters() const { return port.queue_pair(number)->counters; }
    QueuePairState state() const { return port.queue_pair(number)->state(); }

    /// A piece of the only region of this end.
    Piece piece(std::size_t offset, std::size_t length) const {
        return {base + offset, static_cast<std::uint32_t>(length), key};
    }
    void fill(std::size_t offset, const std::vector<std::byte>& bytes) {
        std::ranges::copy(bytes, memory.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    std::vector<std::byte> bytes(std::size_t offset, std::size_t size) const {
        const auto from = memory.begin() + static_cast<std::ptrdiff_t>(offset);
        return {from, from + static_cast<std::ptrdiff_t>(size)};
    }

    PostStatus post(const WorkTerms& terms, const Piece& local) {
        return port.post_send(number, {.terms = terms, .pieces = std::span(&local, 1)});
    }
    PostStatus receive(std::uint64_t id, const Piece& to) {
        const ReceiveRequest request{.id = id, .pieces = std::span(&to, 1)};
        return shared ? port.post_receive(*shared, request) : port.post_receive(number, request);
    }

    std::optional<PacketBytes> poll(Instant now) {
        PacketBytes room(packet_max(4096));
        TxFrame out;
        out.open(room, {.frame_max = room.size()});
        if (!port.poll_transmit(now, out)) return std::nullopt;
        PacketBytes packet(out.size());
        out.gather(packet);
        return packet;
    }
    std::vector<PacketBytes> leaving(Instant now) {
        std::vector<PacketBytes> packets;
        while (auto packet = poll(now)) packets.push_back(std::move(*packet));
        return packets;
    }
    /// Whether each packet that leaves is marked as resent.
    std::vector<bool> leaving_marks(Instant now) {
        std::vector<bool> marks;
        PacketBytes room(packet_max(4096));
        TxFrame out;
        for (;;) {
            out.open(room, {.frame_max = room.size()});
            if (!port.poll_transmit(now, out)) return marks;
            marks.push_back(out.resent());
        }
    }
    RxVerdict give(Instant now, const PacketBytes& packet, PeerId from = other_end) {
        return port.on_frame(now, {.bytes = packet, .from = from, .integrity = Integrity::intact});
    }

    std::vector<Completion> sent() { return drain(sends); }
    std::vector<Completion> received() { return drain(receives); }
    std::vector<PortEvent> events() {
        std::vector<PortEvent> events;
        while (const auto event = port.next_delivery()) events.push_back(*event);
        return events;
    }

    Port port;
    std::vector<std::byte> memory;
    CompletionQueueId sends{};
    CompletionQueueId receives{};
    std::optional<SharedReceiveQueueId> shared;
    std::uint32_t number = 0;
    std::uint32_t key = 0;

private:
    std::vector<Completion> drain(CompletionQueueId queue) {
        std::vector<Completion> all;
        while (const auto completion = port.poll(queue)) all.push_back(*completion);
        return all;
    }
};

/// "SEND First fffffe": kind, and the PSN in hexadecimal.
inline std::string name(const PacketBytes& packet) {
    const FrameInfo info = describe(packet);
    char psn[8];
    std::snprintf(psn, sizeof psn, "%06x", info.number ? *info.number : info.ack.value_or(0));
    return std::string(info.kind) + " " + psn;
}
using Names = std::vector<std::string>;
inline Names names(const std::vector<PacketBytes>& packets) {
    Names names;
    for (const PacketBytes& packet : packets) names.push_back(name(packet));
    return names;
}

inline std::vector<std::uint64_t> ids(const std::vector<Completion>& completions) {
    std::vector<std::uint64_t> ids;
    for (const Completion& completion : completions) ids.push_back(completion.id);
    return ids;
}
using Statuses = std::vector<CompletionStatus>;
inline Statuses statuses(const std::vector<Completion>& completions) {
    Statuses statuses;
    for (const Completion& completion : completions) statuses.push_back(completion.status);
    return statuses;
}

/// `a` is the requester and `b` the responder, unless a test says otherwise.
class Pair {
public:
    explicit Pair(const PairSettings& settings = {})
        : a(settings, 0), b(settings, 1), settings_(settings) {
        connect(a, 0);
        connect(b, 1);
    }

    QueuePairChange to_rtr(std::size_t side) const {
        QueuePairChange change{.state = QueuePairState::rtr,
                               .address = other_end,
                               .path_mtu = settings_.connection.path_mtu.value_or(test_mtu),
                               .dest_queue_pair = 0x101 - static_cast<std::uint32_t>(side),
                               .receive_psn = settings_.first[1 - side]};
        if (settings_.transport == Transport::rc) {
            change.max_dest_rd_atomic = settings_.connection.max_dest_rd_atomic.value_or(4);
            change.min_rnr_timer = settings_.connection.min_rnr_timer.value_or(1);
        }
        return change;
    }
    QueuePairChange to_rts(std::size_t side) const {
        QueuePairChange change{.state = QueuePairState::rts, .send_psn = settings_.first[side]};
        if (settings_.transport == Transport::rc) {
            change.max_rd_atomic = settings_.connection.max_rd_atomic.value_or(4);
            change.timeout = settings_.connection.timeout.value_or(4);
            change.retry_count = settings_.connection.retry_count.value_or(7);
            change.rnr_retry = settings_.connection.rnr_retry.value_or(7);
            change.congestion = settings_.connection.congestion;
        }
        return change;
    }
    void connect(End& end, std::size_t side) const {
        end.modify(to_init());
        end.modify(to_rtr(side));
        end.modify(to_rts(side));
    }

    /// Posts a message of `a` with its own content, and returns its id.
    std::uint64_t post(Request request, std::size_t length, std::size_t at = 0) {
        const std::uint64_t id = ++posted;
        a.fill(at, pattern(length, static_cast<unsigned>(id)));
        WorkTerms terms{.id = id, .request = request, .immediate = 0xC0DE0000};
        terms.remote_address = End::base + 0x4000;
        terms.remote_key = b.key;
        EXPECT_EQ(a.post(terms, a.piece(at, length)), PostStatus::accepted);
        return id;
    }
    std::uint64_t send(std::size_t length) { return post(Request::send, length, 0x400 * posted); }

    /// Posts `count` receive requests of `b`, with ids from 100 on.
    void receives(std::size_t count, std::size_t length = 0x800) {
        for (std::size_t i = 0; i < count; ++i, ++received) {
            EXPECT_EQ(b.receive(100 + received, b.piece(0x8000 + 0x800 * received, length)),
                      PostStatus::accepted);
        }
    }
    /// The bytes that receive request 100 + `n` has received.
    std::vector<std::byte> got(std::size_t n, std::size_t size) const {
        return b.bytes(0x8000 + 0x800 * n, size);
    }

    std::vector<RxVerdict> give(const std::vector<PacketBytes>& packets) {
        std::vector<RxVerdict> verdicts;
        for (const PacketBytes& packet : packets) verdicts.push_back(b.give(now, packet));
        return verdicts;
    }

    /// Moves all packets in both directions until no more leave.
    void settle() {
        for (bool moved = true; moved;) {
            moved = false;
            while (const auto packet = a.poll(now)) {
                b.give(now, *packet);
                moved = true;
            }
            while (const auto packet = b.poll(now)) {
                a.give(now, *packet);
                moved = true;
            }
        }
    }
    void pass(Duration time) {
        now = now + time;
        for (End* end : {&a, &b}) {
            if (end->port.next_deadline() <= now) end->port.on_deadline(now);
        }
    }

    Instant now;
    End a;
    End b;
    std::uint64_t posted = 0;
    std::size_t received = 0;

private:
    PairSettings settings_;
};

}  // namespace wireproof::proto::ib::test
