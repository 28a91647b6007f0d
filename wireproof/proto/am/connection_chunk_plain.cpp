// The short way for bulk: packets of a chunk that leave for the first time, and those that come one
// behind the other. The first packet of a chunk, the last and any other go the general way.
#include <cstring>

#include "wireproof/proto/am/connection.hpp"
#include "wireproof/proto/am/short_header.hpp"

namespace wireproof::am {

void Connection::fill_chunk_packet(Channel channel, const SendWindow::Saved& chunk, TxFrame& out) {
    SendWindow& window = out_window(channel);
    const auto packet = window.plain_chunk_packet(chunk);
    ShortHeader header;
    header.address = address_out_.chunk[index(channel)];
    header.route = route_;
    header.round = window.round();
    header.count = chunk.count;
    header.cookie = handshake_.cookie();
    header.number = packet.number;
    header.ack = {receive_[0].expected(), receive_[1].expected()};
    header.id = chunk.id;
    header.offset = packet.offset;
    add_plain(out, header, packet.data, !config_.trusts_payload);
    ++stats_.sent[static_cast<std::size_t>(Kind::chunk)];
    window.plain_departed(1);
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
                       !incoming.drained && ShortHeader::padding_in(bytes) == 0 &&
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
