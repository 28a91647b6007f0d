// The frames that tell the peer what has arrived: NACKs and acknowledgements.
#include <algorithm>
#include <utility>

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
namespace {

// Longest map of a NACK in bytes. Windows of more than 8192 packets are reported in parts.
constexpr std::size_t map_max = 1024;

}  // namespace

void Receiver::fetch_refused(const Sender& sender) {
    if (stall_.need == Need::nothing || !met(stall_.need, sender)) return;
    stall_.need = Need::nothing;
    (*this)[Channel::request].window.owe_nack(stall_.round, stall_.place + 1, true);
}

bool Receiver::send_nack(Channel channel, const Others& others, TxFrame& out) {
    auto& [session, sender] = others;
    const Config& config = session.config();
    ReceiveWindow& window = (*this)[channel].window;
    if (!window.nack_due()) return false;
    const auto& pending = window.pending_nack();
    if (!pending) return false;
    Header header;
    header.kind = Kind::nack;
    header.channel = channel;
    header.round = pending->round;
    header.number = window.expected();
    if (session.leave.peer_leaves()) header.id = nack_to_leaver;
    std::array<std::byte, NackBody::size + map_max> data;
    std::size_t size = 0;
    if (config.recovery == Recovery::selective) {
        const std::size_t room = std::min(data.size(), config.data_max()) - NackBody::size;
        const std::size_t map_size = std::min(window.map_bytes(), room);
        // A map that was cut short says nothing about later packets.
        const bool whole = map_size == window.map_bytes();
        const std::uint32_t reach =
            whole ? window.window() : static_cast<std::uint32_t>(map_size * 8);
        NackBody{window.nack_end(), reach}.encode(Bytes(data).first<NackBody::size>());
        window.write_map(Bytes(data).subspan(NackBody::size, map_size));
        size = NackBody::size + map_size;
        header.count = std::exchange(overrun_, false) ? nack_overrun : 0;
    }
    const bool refused = (channel == Channel::request && refuses(others)) || window.puts_off();
    if (refused) header.count |= nack_refuses;
    header.count |= static_cast<std::uint16_t>((*this)[channel].marked() << nack_marks_shift);
    window.nack_left();
    sender.emit(session, acks(), header, ConstBytes(data).first(size), out);
    acks_left();
    return true;
}

bool Receiver::send_ack(const Others& others, TxFrame& out) {
    if (!ack_due()) return false;
    Header header;
    others.sender.emit(others.session, acks(), header, {}, out);
    acks_left();
    return true;
}

}  // namespace wireproof::am
