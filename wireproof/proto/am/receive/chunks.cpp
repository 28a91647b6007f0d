// Packets of chunks. The packets of one chunk may arrive in any order; chunks are completed in
// order.

#include <algorithm>

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
namespace {

// The last chunk of a store is acknowledged at once, because the caller at the peer waits for it.
// That of a get is too, if the peer may run out of get slots.
bool end_is_awaited(Channel channel, const Config& config) {
    return channel == Channel::request || !config.holds_acks() ||
           config.get_slots < config.gets_max;
}

}  // namespace

/// The place of a CHUNK packet, from its offset.
struct Receiver::ChunkPlace {
    std::uint64_t base = 0;     // of the chunk in the transfer
    std::uint32_t place = 0;    // of the packet in the chunk
    std::uint32_t packets = 0;  // of the chunk
    bool last = false;          // this is the last chunk of its transfer
};

std::optional<Receiver::ChunkPlace> Receiver::chunk_place(const Header& header,
                                                          const ArrivingTransfer& incoming,
                                                          std::size_t size, const Config& config) {
    const std::uint64_t data_max = config.data_max();
    if (header.offset >= incoming.total || header.offset % data_max != 0) return std::nullopt;
    ChunkPlace place;
    const std::uint64_t in_chunk = header.offset % config.chunk_bytes();
    place.base = header.offset - in_chunk;
    place.place = static_cast<std::uint32_t>(in_chunk / data_max);
    const std::uint64_t left = incoming.total - place.base;
    place.last = left <= config.chunk_bytes();
    const std::uint64_t bytes = std::min<std::uint64_t>(left, config.chunk_bytes());
    place.packets = static_cast<std::uint32_t>((bytes + data_max - 1) / data_max);
    if (header.count != place.packets) return std::nullopt;  // AM-47
    if (size != std::min(data_max, incoming.total - header.offset)) return std::nullopt;
    return place;
}

// Selective recovery: packets that are missing before this one are lost, also those of its own
// chunk.
void Receiver::nack_holes(const Header& header, const ChunkPlace& chunk,
                          ReceiveWindow::Placement at, const Others& others) {
    ReceiveWindow& window = (*this)[header.channel].window;
    const bool selective = others.session.config().recovery == Recovery::selective;
    if (!selective || !may_nack(header.channel, others)) return;
    const bool in_order =
        at.distance == 0 && window.message(0).arrived == chunk.place;  // the usual case
    if (!in_order) window.owe_nack(header.round, at.distance + chunk.place, false);
}

// A packet that arrives before its OPEN is kept and not written: to write it early could undo the
// order of two stores to the same memory.
RxVerdict Receiver::keep_early(const Header& header, ConstBytes data, ReceiveWindow::Placement at,
                               const Others& others) {
    const Config& config = others.session.config();
    ReceiveWindow& window = (*this)[header.channel].window;
    const auto place =
        static_cast<std::uint32_t>(header.offset % config.chunk_bytes() / config.data_max());
    if (place >= header.count || at.distance + header.count > window.window() ||
        header.count > config.chunk_packets || window.message(at.distance).known()) {
        return RxVerdict::malformed;
    }
    if (may_nack(header.channel, others)) {
        window.owe_nack(header.round, at.distance + place, false);
    }
    if (window.has(at.distance + place)) return RxVerdict::duplicate;
    ReceiveWindow::Early packet;
    packet.id = header.id;
    packet.count = header.count;
    packet.round = header.round;
    packet.offset = header.offset;
    return window.keep_early(at.distance, place, packet, data) ? RxVerdict::held
                                                               : RxVerdict::out_of_sequence;
}

// The OPEN has arrived, and the expected message is a chunk of which packets were kept. Returns
// whether there were any.
bool Receiver::place_early(const Others& others) {
    ReceiveWindow& window = (*this)[Channel::request].window;
    bool any = false;
    const std::uint32_t number = window.expected();
    while (window.expected() == number) {
        const auto packet = window.take_early(others.session.config().chunk_packets);
        if (!packet) break;
        any = true;
        Header header;
        header.kind = Kind::chunk;
        header.id = packet->id;
        header.count = packet->count;
        header.round = packet->round;
        header.offset = packet->offset;
        header.number = number;
        // A packet that does not fit its store is dropped, as if it had never arrived. The others
        // wait for room like packets ahead: a NACK may have said that they have arrived, so they
        // cannot be refused now.
        if ((*this)[Channel::request].transfers[header.id].active) {
            (void)on_chunk(header, window.data_of(*packet), {ReceiveWindow::Place::ahead, 0},
                           others);
        }
        window.free_slot(packet->slot);
    }
    return any;
}

RxVerdict Receiver::on_chunk(const Header& header, ConstBytes data, ReceiveWindow::Placement at,
                             const Others& others) {
    const Config& config = others.session.config();
    ReceiveWindow& window = (*this)[header.channel].window;
    const bool ahead = at.place == ReceiveWindow::Place::ahead;
    ArrivingTransfer& incoming = (*this)[header.channel].transfers[header.id];
    if (!incoming.active) {
        return ahead ? keep_early(header, data, at, others) : RxVerdict::malformed;
    }
    const auto chunk = chunk_place(header, incoming, data.size(), config);
    if (!chunk) return RxVerdict::malformed;
    ReceiveWindow::Message& message = window.message(at.distance);
    if (message.known()) {
        if (message.kind != Kind::chunk || message.id != header.id || message.base != chunk->base) {
            return RxVerdict::malformed;
        }
    } else if (!ahead && chunk->base != incoming.completed) {
        return RxVerdict::malformed;
    }
    const std::uint32_t distance = at.distance + chunk->place;
    if (at.distance + chunk->packets > window.window()) return RxVerdict::malformed;
    nack_holes(header, *chunk, at, others);
    if (window.has(distance)) return RxVerdict::duplicate;  // AM-40: no byte is written twice
    const bool completes = message.arrived + 1 == chunk->packets;
    if (!ahead && completes && chunk->last) {
        const Need need = need_of_last(header.channel, incoming);
        stall_.store = need == Need::refusal_acked ? header.id : stall_.store;
        if (!met(need, others.sender)) return refuse_packet(header, need, chunk->place);
        if (lost_its_handler(header.channel, incoming)) {
            refuse_store(header.id, Reason::no_handler, others.sender);
            stall_.store = header.id;
            return refuse_packet(header, Need::refusal_acked, chunk->place);
        }
    }
    if (!incoming.discarded) {
        std::copy(data.begin(), data.end(),
                  incoming.memory.begin() + static_cast<std::ptrdiff_t>(header.offset));
    }
    message.kind = Kind::chunk;
    message.span = chunk->packets;
    message.id = header.id;
    message.base = chunk->base;
    ++message.arrived;  // AM-4, AM-19: in any order
    window.mark(distance);
    if (ahead) return RxVerdict::held;
    if (completes) finish_chunk(header.channel, config);
    return RxVerdict::accepted;
}

// The expected message is a complete chunk.
void Receiver::finish_chunk(Channel channel, const Config& config) {
    ReceiveWindow& window = (*this)[channel].window;
    const ReceiveWindow::Message chunk = window.message(0);
    ArrivingTransfer& incoming = (*this)[channel].transfers[chunk.id];
    const std::uint64_t left = incoming.total - chunk.base;
    incoming.completed = chunk.base + std::min<std::uint64_t>(left, config.chunk_bytes());
    pass_expected(channel);
    // AM-5: one acknowledgement for each chunk, or for several chunks (ack_chunks).
    const bool ends = incoming.completed == incoming.total;
    const bool enough = window.owed() >= config.ack_chunks * config.chunk_packets;
    if (enough || (ends && end_is_awaited(channel, config))) window.owe_ack();
    if (ends) finish_transfer(channel, chunk.id);
}

void Receiver::finish_transfer(Channel channel, std::uint32_t id) {
    ArrivingTransfer& incoming = (*this)[channel].transfers[id];
    (*this)[channel].end_transfer(id);  // AM-27: all bytes are in place
    if (channel == Channel::reply) {
        deliveries.put(GetEnded{incoming.tag, Reason::none});
    } else if (!incoming.discarded) {
        deliveries.put(Stored{incoming.handler, incoming.all(), incoming.argument});
    }
}

}  // namespace wireproof::am
