// The short way for bulk: packets of a chunk that leave for the first time, one by one or many at
// once, and those that come one behind the other. Of those that come, the first of a chunk, the
// last and any out of order go the general way.
#include <array>
#include <cstring>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/proto/am/short_header.hpp"

namespace wireproof::am {

ShortHeader Connection::chunk_header(Channel channel, const SendWindow::Saved& chunk,
                                     const SendWindow::Departure& packet) const {
    ShortHeader header;
    header.address = address_out_.chunk[index(channel)];
    header.route = route_;
    header.round = send_[index(channel)].round();
    header.count = chunk.count;
    header.cookie = handshake_.cookie();
    header.number = packet.number;
    header.ack = {receive_[0].expected(), receive_[1].expected()};
    header.id = chunk.id;
    header.offset = packet.offset;
    return header;
}

void Connection::fill_chunk_packet(Channel channel, const SendWindow::Saved& chunk, TxFrame& out) {
    SendWindow& window = out_window(channel);
    const auto packet = window.plain_chunk_packet(chunk);
    ShortHeader header = chunk_header(channel, chunk, packet);
    const std::size_t opening = channel == Channel::request ? config_.open_bytes : 0;
    header.filler = filler_of(out, window, opening + packet.offset, packet.data.size());
    add_plain(out, header, packet.data, !config_.trusts_payload);
    out.add_filler(header.filler);
    ++stats_.sent[static_cast<std::size_t>(Kind::chunk)];
    window.plain_departed(1);
}

std::size_t Connection::alike_in_run() const {
    const SendWindow::Saved& chunk = *next_of_run_;
    if (chunk.kind != Kind::chunk || !wide_) return 0;
    return send_[index(run_)].full_packets_waiting(chunk);
}

// All packets of a chunk carry one number, so their headers differ in the offset alone, and the
// checksum of what stands before it is taken once.
void Connection::write_alike(const FrameRun& run) {
    constexpr std::size_t size = ShortHeader::size;
    constexpr std::size_t same = 32;  // bytes of the header, up to the offset
    SendWindow& window = out_window(run_);
    const SendWindow::Saved& chunk = *next_of_run_;
    const auto packet = window.plain_chunk_packet(chunk);
    ShortHeader header = chunk_header(run_, chunk, packet);
    std::array<std::byte, size> head{};
    header.encode(head);
    Crc32c begun;
    begun.add(ConstBytes(head).first(same));
    const bool covered = run.wants_check && !config_.trusts_payload;
    const std::byte* data = packet.data.data();
    std::byte* to = run.room.data();
    for (std::size_t i = 0; i < run.frames; ++i) {
        header.encode(std::span<std::byte, size>(to, size));
        Crc32c crc = begun;
        if (run.wants_check) crc.add(ConstBytes(to + same, size - same));
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
    stats_.sent[static_cast<std::size_t>(Kind::chunk)] += run.frames;
    window.plain_departed(static_cast<std::uint32_t>(run.frames));
}

/// What makes the OPEN or the last packet of a transfer as long as those before and behind it,
/// where the lane prefers that; nothing if it is the last to leave, or where bytes count more: on a
/// path that others share, or if there are few. `transfer`: about how many bytes it has besides.
std::uint16_t Connection::filler_of(const TxFrame& out, const SendWindow& window,
                                    std::uint64_t transfer, std::size_t size) {
    const bool fills = wide_ && out.prefers_alike() && !window.afoot().counted() &&
                       window.waiting() > 1 && transfer >= config_.data_max() / 2 &&
                       size < config_.data_max();
    if (!fills) return 0;
    ++stats_.filled;
    return static_cast<std::uint16_t>(config_.data_max() - size);
}

// A full packet that is neither the first nor the last of its chunk, after all those before it.
bool Connection::accept_chunk_packet(Instant now, const RxFrame& frame) {
    const std::size_t size = frame.bytes.size();
    if (!wide_ || size != config_.packet_max || frame.integrity == Integrity::damaged) return false;
    const auto bytes = frame.bytes.first<ShortHeader::size>();
    const std::uint64_t address = ShortHeader::address_in(bytes);
    const bool stores = address == chunk_address_in_[0];
    if (!stores && address != chunk_address_in_[1]) return false;
    const ShortHeader header = ShortHeader::decode(bytes);
    const Channel channel = stores ? Channel::request : Channel::reply;
    ReceiveWindow& window = in_window(channel);
    if (header.cookie != handshake_.cookie() || !handshake_.established() || ending_.active ||
        header.number != window.expected() || header.id >= incoming_[index(channel)].size()) {
        return false;
    }
    ReceiveWindow::Message& chunk = window.message(0);
    Incoming& incoming = incoming_[index(channel)][header.id];
    const std::size_t data_max = config_.data_max();
    const bool usual = chunk.kind == Kind::chunk && chunk.id == header.id &&
                       chunk.span == header.count && chunk.arrived + 1 < chunk.span &&
                       window.begun_in_order(chunk.arrived) && incoming.active &&
                       !incoming.drained && ShortHeader::filler_in(bytes) == 0 &&
                       header.offset == chunk.base + std::uint64_t{chunk.arrived} * data_max;
    if (!usual) return false;
    if (frame.integrity == Integrity::check &&
        !checksum_holds(config_.layout, frame.bytes, config_.trusts_payload)) {
        return false;
    }
    silent_since_ = now;
    unanswered_ = 0;
    nothing_to_draw_ = !delivery_ && !drawn_slot_ && !plain_here_ && ended_.empty();
    for (const Channel of : {Channel::request, Channel::reply}) {
        if (header.ack[index(of)] == out_window(of).first_unacknowledged()) continue;
        nothing_to_draw_ = false;
        on_ack(now, of, header.ack[index(of)]);
    }
    std::memcpy(incoming.memory.data() + header.offset, frame.bytes.data() + ShortHeader::size,
                data_max);
    window.mark(chunk.arrived++);
    return true;
}

}  // namespace wireproof::am
