// Fast path of long transfers: packets of a chunk that arrive one after the other. The first and
// last packets of a chunk and those out of order take the general path.
#include <algorithm>
#include <cstring>
#include <optional>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/am/receive/fast_receive.hpp"

namespace wireproof::am {

/// Where the next packet of the expected chunk goes.
struct Receiver::NextOfChunk {
    ReceiveWindow* window;
    ReceiveWindow::Message* chunk;
    std::byte* to;
    std::uint64_t offset;
    Acks ack;
};

// Where the bytes of this packet go, if it is a full packet, neither the first nor the last of its
// chunk, and the next in order. Of its header, only the acks and the checksum remain to be checked.
// Inline, so that the header stays in registers.
[[gnu::always_inline]] inline std::optional<Receiver::NextOfChunk> Receiver::next_of_chunk(
    const HeaderWords& header, const Session& session) {
    const bool stores = header.flow == channels_[0].chunk_flow;
    if (!stores && header.flow != channels_[1].chunk_flow) return std::nullopt;
    const Channel channel = stores ? Channel::request : Channel::reply;
    ReceiveWindow& window = (*this)[channel].window;
    if (header.cookie != session.handshake.cookie() || header.number != window.expected() ||
        !session.is_open() || header.id >= (*this)[channel].transfers.size()) {
        return std::nullopt;
    }
    ReceiveWindow::Message& chunk = window.message(0);
    const ArrivingTransfer& incoming = (*this)[channel].transfers[header.id];
    const std::size_t data_max = session.config().data_max();
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

bool Receiver::accept_chunk_packet(Instant now, const RxFrame& frame, const Others& others) {
    const Config& config = others.session.config();
    const std::size_t size = frame.bytes.size();
    const bool usual = size == config.packet_max && frame.integrity != Integrity::damaged;
    if (!config.takes_fast_paths() || !usual || frame.marked) return false;
    const auto head = frame.bytes.first<HeaderWords::size>();
    const std::uint64_t first = HeaderWords::first_in(head);
    const std::uint64_t flow = first & HeaderWords::flow_mask;
    if (flow != channels_[0].chunk_flow && flow != channels_[1].chunk_flow) return false;
    const HeaderWords header = HeaderWords::decode(first, head);
    const auto next = next_of_chunk(header, others.session);
    if (!next) return false;
    if (frame.integrity == Integrity::check &&
        !checksum_holds(config.layout, frame.bytes, config.trusts_payload)) {
        return false;
    }
    if (!says_news(next->ack, others.sender)) deliveries.expect_nothing();
    commit(now, next->ack, others);
    std::memcpy(next->to, frame.bytes.data() + HeaderWords::size, config.data_max());
    next->window->mark(next->chunk->arrived++);
    return true;
}

// Copies and checks in one pass, so the bytes are in place before the checksum is known. A packet
// with a wrong checksum does no harm: its header is the predicted one, so its bytes are where the
// correct ones will go, and these have not arrived yet.
std::uint32_t Receiver::on_run(Instant now, const RxRun& run, const Others& others) {
    const Config& config = others.session.config();
    constexpr std::size_t size = HeaderWords::size;
    if (!config.takes_fast_paths() || run.size != config.packet_max) return 0;
    const HeaderWords first = HeaderWords::decode(run.frame(0).first<size>());
    const auto next = next_of_chunk(first, others.session);
    if (!next || says_news(next->ack, others.sender)) return 0;
    const std::size_t data_max = config.data_max();
    const std::uint32_t most = std::min(run.frames, next->chunk->span - 1 - next->chunk->arrived);
    Crc32c begun;
    begun.add(run.frame(0).first<HeaderWords::common>());
    const bool covered = covers_data(Kind::chunk, config.trusts_payload);
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
    if (taken > 0) commit(now, next->ack, others);
    return taken;
}

}  // namespace wireproof::am
