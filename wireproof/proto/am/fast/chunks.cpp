// Fast path of long transfers: packets of a chunk that leave for the first time, one by one or
// several at once, and packets of a chunk that arrive one after the other. At the receiver, the
// first and last packets of a chunk and those out of order take the general path.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
namespace {

constexpr std::size_t common = HeaderWords::common;

}  // namespace

/// Where the next packet of the expected chunk goes.
struct Receiver::NextOfChunk {
    ReceiveWindow* window;
    ReceiveWindow::Message* chunk;
    std::byte* to;
    std::uint64_t offset;
    Acks ack;
};

HeaderWords Sender::chunk_header(Channel channel, const SendWindow::Saved& chunk,
                                 const SendWindow::Departure& packet) const {
    HeaderWords header = fast_header(channel);
    header.flow = sender(channel).flows.chunk;
    header.count = chunk.count;
    header.number = packet.number;
    header.id = chunk.id;
    header.offset = packet.offset;
    return header;
}

void Sender::fill_chunk_packet(Channel channel, const SendWindow::Saved& chunk, TxFrame& out) {
    SendWindow& window = sender(channel).window;
    const auto packet = window.fast_chunk_packet(chunk);
    HeaderWords header = chunk_header(channel, chunk, packet);
    header.filler = filler_of(out, channel, packet);
    add_fast(out, header, packet.data, Kind::chunk);
    out.add_filler(header.filler);
    note_left(channel, Kind::chunk, 1, 1);
}

std::size_t Sender::equal_in_run() const {
    const SendWindow::Saved& chunk = *next_of_run_;
    if (chunk.kind != Kind::chunk) return 0;
    return sender(run_).window.full_packets_waiting(chunk);
}

// All packets of a chunk have the same number, so their headers differ only in the offset. The
// checksum of the bytes before it is computed once.
void Sender::write_equal(const FrameRun& run) {
    constexpr std::size_t size = HeaderWords::size;
    SendWindow& window = sender(run_).window;
    const SendWindow::Saved& chunk = *next_of_run_;
    const auto packet = window.fast_chunk_packet(chunk);
    HeaderWords header = chunk_header(run_, chunk, packet);
    std::array<std::byte, size> head{};
    header.encode(head);
    Crc32c begun;
    begun.add(ConstBytes(head).first(common));
    const bool covered = run.wants_check && covers_data(Kind::chunk, config_.trusts_payload);
    const std::byte* data = packet.data.data();
    std::byte* to = run.room.data();
    for (std::size_t i = 0; i < run.frames; ++i) {
        header.encode(std::span<std::byte, size>(to, size));
        Crc32c crc = begun;
        if (run.wants_check) crc.add(ConstBytes(to + common, size - common));
        const ConstBytes part(data, run.size - size);
        if (covered) {
            crc.add_copying(part, to + size);
        } else {
            std::memcpy(to + size, part.data(), part.size());
        }
        if (run.wants_check) store_checksum(config_.layout, Bytes(to, size), crc.value());
        header.offset += part.size();
        data += part.size();
        to += run.size;
    }
    const auto frames = static_cast<std::uint32_t>(run.frames);
    note_left(run_, Kind::chunk, frames, frames);
}

// Where the bytes of this packet go, if it is a full packet, neither the first nor the last of its
// chunk, and the next in order. Of its header, only the acks and the checksum remain to be checked.
std::optional<Receiver::NextOfChunk> Receiver::next_of_chunk(const HeaderWords& header) {
    const bool stores = header.flow == receive_[0].chunk_flow;
    if (!stores && header.flow != receive_[1].chunk_flow) return std::nullopt;
    const Channel channel = stores ? Channel::request : Channel::reply;
    ReceiveWindow& window = receiver(channel).window;
    if (!is_next(header, window) || !handshake_.established() || ending_.active ||
        header.id >= receiver(channel).incoming.size()) {
        return std::nullopt;
    }
    ReceiveWindow::Message& chunk = window.message(0);
    Incoming& incoming = receiver(channel).incoming[header.id];
    const std::size_t data_max = config_.data_max();
    // Packets of the chunk may have arrived before an OPEN that gave the id to a shorter transfer.
    const bool usual =
        chunk.kind == Kind::chunk && chunk.id == header.id && chunk.span == header.count &&
        chunk.arrived + 1 < chunk.span && window.begun_in_order(chunk.arrived) && incoming.active &&
        !incoming.discarded && chunk.base == incoming.completed &&
        chunk.base + std::uint64_t{chunk.span - 1} * data_max < incoming.total &&
        header.filler == 0 && header.offset == chunk.base + std::uint64_t{chunk.arrived} * data_max;
    if (!usual) return std::nullopt;
    return NextOfChunk{&window, &chunk, incoming.memory.data() + header.offset, header.offset,
                       header.ack};
}

bool Receiver::accept_chunk_packet(Instant now, const Arrival& arrival) {
    const std::size_t size = arrival.bytes.size();
    const bool usual = size == config_.packet_max && arrival.integrity != Integrity::damaged;
    if (!fast_ || !usual || arrival.marked) return false;
    const auto next = next_of_chunk(arrival.head);
    if (!next) return false;
    if (arrival.integrity == Integrity::check &&
        !checksum_holds(config_.layout, arrival.head, arrival.bytes, config_.trusts_payload)) {
        return false;
    }
    nothing_to_draw_ =
        says_no_news(next->ack) && !delivery_ && !drawn_slot_ && !short_here_ && ended_.empty();
    commit(now, next->ack);
    std::memcpy(next->to, arrival.bytes.data() + HeaderWords::size, config_.data_max());
    next->window->mark(next->chunk->arrived++);
    return true;
}

// Copies and checks in one pass, so the bytes are in place before the checksum is known. A packet
// with a wrong checksum does no harm: its header is the predicted one, so its bytes are where the
// correct ones will go, and these have not arrived yet.
std::uint32_t Receiver::on_run(Instant now, const RxRun& run) {
    constexpr std::size_t size = HeaderWords::size;
    if (!fast_ || run.size != config_.packet_max) return 0;
    const HeaderWords first = HeaderWords::decode(run.frame(0).first<size>());
    const auto next = next_of_chunk(first);
    if (!next || !says_no_news(next->ack)) return 0;
    const std::size_t data_max = config_.data_max();
    const std::uint32_t most = std::min(run.frames, next->chunk->span - 1 - next->chunk->arrived);
    Crc32c begun;
    begun.add(run.frame(0).first<common>());
    const bool covered = covers_data(Kind::chunk, config_.trusts_payload);
    std::uint32_t taken = 0;
    for (; taken < most; ++taken) {
        const ConstBytes frame = run.frame(taken);
        const HeaderWords head = HeaderWords::decode(frame.first<size>());
        const std::uint64_t passed = std::uint64_t{taken} * data_max;
        const bool predicted =
            head.is_common_with(first) && head.offset == next->offset + passed && head.filler == 0;
        if (!predicted) break;
        Crc32c crc = begun;
        crc.add(ConstBytes(head.covered_rest()));
        const ConstBytes data = frame.subspan(size);
        if (covered) crc.add_copying(data, next->to + passed);
        if (head.checksum != crc.value()) break;
        if (!covered) std::memcpy(next->to + passed, data.data(), data_max);
        next->window->mark(next->chunk->arrived++);
    }
    if (taken == 0) return 0;
    commit(now, next->ack);
    (void)note_verdict(now, RxVerdict::accepted, taken);
    return taken;
}

}  // namespace wireproof::am
