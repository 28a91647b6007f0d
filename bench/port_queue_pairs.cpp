// The cost of a port with many queue pairs: to receive a packet for one of them, to find that none
// has anything to send, to find the next deadline, to send a message while all others wait for
// answers, or while they wait for room in the window of their peer. proto/ib/README.md has the
// results of a Xeon at 2.6 GHz with two shared cores.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::size_t path_mtu = 1024;
constexpr std::uint32_t domain = 1;
constexpr std::uint64_t base = 0x10000;
constexpr PeerId peer{0};
constexpr std::size_t length = 64;

/// RC queue pairs with numbers from 2 on. Each is connected to a peer's queue pair with the same
/// number.
struct Crowd {
    explicit Crowd(std::size_t count, const PeerWindows::Config& window = {})
        : port({.path_mtu = path_mtu, .peer_window = window}), memory(4096) {
        completions = port.add_completion_queue(16);
        key = port.memory()
                  .add_region({.domain = domain,
                               .address = base,
                               .memory = memory,
                               .access = {.local_write = true, .remote_write = true}})
                  .value();
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t number = port.add_queue_pair({.transport = Transport::rc,
                                                              .domain = domain,
                                                              .send_completions = completions,
                                                              .receive_completions = completions,
                                                              .limits = {.sends = 4, .receives = 4},
                                                              .signal_all = true})
                                             .value();
            port.modify(number, to_init({.remote_write = true}));
            connect(port, number, {.peer = peer, .path_mtu = path_mtu, .dest_queue_pair = number});
            numbers.push_back(number);
        }
    }

    bool poll(Instant now) {
        frame.open(room, {.frame_max = room.size()});
        return port.poll_transmit(now, frame);
    }
    /// Posts a Write of 64 bytes.
    void write(std::uint32_t number) {
        const Piece piece{base, length, key};
        const WorkTerms terms{.request = Request::write, .remote_address = base};
        if (port.post_send(number, {.terms = terms, .pieces = std::span(&piece, 1)}) !=
            PostStatus::accepted) {
            std::abort();
        }
    }
    /// The peer acknowledges the packet with this PSN.
    void acknowledge(std::uint32_t number, std::uint32_t psn) {
        Headers headers;
        headers.bth.opcode = opcode_of(Transport::rc, Operation::acknowledge);
        headers.bth.dest_qp = number;
        headers.bth.psn = Psn(psn & 0xFFFFFF);
        std::vector<std::byte> bytes(packet_max(path_mtu));
        TxFrame out;
        out.open(bytes, {.frame_max = bytes.size()});
        encode(headers, std::span<const ConstBytes>(), out);
        port.on_frame(Instant(), {.bytes = std::span(bytes).first(out.size()), .from = peer});
    }

    Port port;
    std::vector<std::byte> memory;
    std::uint32_t key = 0;
    CompletionQueueId completions{};
    std::vector<std::uint32_t> numbers;
    std::vector<std::byte> room = std::vector<std::byte>(packet_max(path_mtu));
    TxFrame frame;
};

/// A Write of 64 bytes to a random queue pair, and its acknowledgement.
void receive(benchmark::State& state) {
    Crowd crowd(static_cast<std::size_t>(state.range(0)));
    Random dice(1);
    std::vector<std::uint32_t> psns(crowd.numbers.size());
    const std::vector<std::byte> payload(length);
    const ConstBytes piece(payload);
    std::vector<std::byte> packet(packet_max(path_mtu));
    for (auto _ : state) {
        const std::size_t which = dice.below(crowd.numbers.size());
        Headers headers;
        headers.bth.opcode = opcode_of(Transport::rc, Operation::write_only);
        headers.bth.dest_qp = crowd.numbers[which];
        headers.bth.psn = Psn(psns[which]++ & 0xFFFFFF);
        headers.bth.ack_request = true;
        headers.reth = {.address = base, .rkey = crowd.key, .length = length};
        TxFrame out;
        out.open(packet, {.frame_max = packet.size()});
        encode(headers, std::span(&piece, 1), out);
        std::vector<std::byte> bytes(out.size());
        out.gather(bytes);
        crowd.port.on_frame(Instant(), {.bytes = bytes, .from = peer});
        if (!crowd.poll(Instant())) state.SkipWithError("no acknowledgement");
    }
}

void find_nothing_to_send(benchmark::State& state) {
    Crowd crowd(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(crowd.poll(Instant()));
}

void next_deadline(benchmark::State& state) {
    Crowd crowd(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(crowd.port.next_deadline());
}

/// A Write of one queue pair and its acknowledgement. All others wait for answers.
void send_beside_others(benchmark::State& state) {
    Crowd crowd(static_cast<std::size_t>(state.range(0)) + 1);
    const std::uint32_t active = crowd.numbers.back();
    crowd.numbers.pop_back();
    for (const std::uint32_t number : crowd.numbers) crowd.write(number);
    while (crowd.poll(Instant())) {
    }
    std::uint32_t psn = 0;
    for (auto _ : state) {
        crowd.write(active);
        if (!crowd.poll(Instant())) state.SkipWithError("no packet");
        benchmark::DoNotOptimize(crowd.port.next_deadline());
        crowd.acknowledge(active, psn++);
        if (!crowd.port.poll(crowd.completions)) state.SkipWithError("no completion");
    }
}

/// Each queue pair has one Write, and the window of the peer has room for 64 packets. An
/// acknowledgement arrives, and a packet of another queue pair leaves; no other does.
void send_in_turn(benchmark::State& state) {
    Crowd crowd(static_cast<std::size_t>(state.range(0)), {.start = 64, .most = 64});
    for (const std::uint32_t number : crowd.numbers) crowd.write(number);
    while (crowd.poll(Instant())) {
    }
    std::size_t turn = 0;
    for (auto _ : state) {
        const std::uint32_t number = crowd.numbers[turn % crowd.numbers.size()];
        const auto round = static_cast<std::uint32_t>(turn++ / crowd.numbers.size());
        crowd.acknowledge(number, round);
        if (!crowd.port.poll(crowd.completions)) state.SkipWithError("no completion");
        crowd.write(number);
        if (!crowd.poll(Instant())) state.SkipWithError("no packet");
        if (crowd.poll(Instant())) state.SkipWithError("more packets than room");
    }
}

BENCHMARK(receive)->Arg(1)->Arg(100)->Arg(10000);
BENCHMARK(find_nothing_to_send)->Arg(1)->Arg(100)->Arg(10000);
BENCHMARK(next_deadline)->Arg(1)->Arg(100)->Arg(10000);
BENCHMARK(send_beside_others)->Arg(1)->Arg(10)->Arg(1000)->Arg(10000);
BENCHMARK(send_in_turn)->Arg(100)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace wireproof::proto::ib
