// Fast path of long transfers: packets of a chunk that leave for the first time, one by one or
// several at once.
#include <array>
#include <cstring>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/am/send/fast_transmit.hpp"

namespace wireproof::am {

HeaderWords Sender::chunk_header(const Session& session, const Acks& acks, Channel channel,
                                 const SendWindow::Saved& chunk,
                                 const SendWindow::Departure& packet) const {
    HeaderWords header = fast_header(session, acks, channel);
    header.flow = (*this)[channel].flows.chunk;
    header.count = chunk.count;
    header.number = packet.number;
    header.id = chunk.id;
    header.offset = packet.offset;
    return header;
}

void Sender::fill_chunk_packet(Session& session, const Acks& acks, Channel channel,
                               const SendWindow::Saved& chunk, TxFrame& out) {
    const auto packet = (*this)[channel].window.fast_chunk_packet(chunk);
    HeaderWords header = chunk_header(session, acks, channel, chunk, packet);
    header.filler = filler_of(session, out, channel, packet);
    add_fast(session.config(), header, packet.data, Kind::chunk, out);
    out.add_filler(header.filler);
    note_left(session, channel, Kind::chunk, 1, 1);
}

std::size_t Sender::equal_in_run() const {
    const SendWindow::Saved& chunk = *next_of_run_;
    if (chunk.kind != Kind::chunk) return 0;
    return (*this)[run_].window.full_packets_waiting(chunk);
}

// All packets of a chunk have the same number, so their headers differ only in the offset. The
// checksum of the bytes before it is computed once.
void Sender::write_equal(Session& session, const Acks& acks, const FrameRun& run) {
    constexpr std::size_t size = HeaderWords::size;
    constexpr std::size_t common = HeaderWords::common;
    const Config& config = session.config();
    const SendWindow::Saved& chunk = *next_of_run_;
    const auto packet = (*this)[run_].window.fast_chunk_packet(chunk);
    HeaderWords header = chunk_header(session, acks, run_, chunk, packet);
    std::array<std::byte, size> head{};
    header.encode(head);
    Crc32c begun;
    begun.add(ConstBytes(head).first(common));
    const bool covered = run.wants_check && covers_data(Kind::chunk, config.trusts_payload);
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
        if (run.wants_check) store_checksum(config.layout, Bytes(to, size), crc.value());
        header.offset += part.size();
        data += part.size();
        to += run.size;
    }
    const auto frames = static_cast<std::uint32_t>(run.frames);
    note_left(session, run_, Kind::chunk, frames, frames);
}

}  // namespace wireproof::am
