#include "wireproof/proto/ib/ud/queue_pair.hpp"

#include "wireproof/proto/ib/transport/incoming_message.hpp"

namespace wireproof::proto::ib {
namespace {

/// If this bit is set in a request, the Q_Key of the queue pair is used, which only a privileged
/// user may set.
constexpr std::uint32_t controlled_qkey = 0x80000000;

}  // namespace

ModifyStatus UdQueuePair::modify(const QueuePairChange& change, Adapter& adapter) {
    const QueuePairState before = core_.state();
    const ModifyStatus status = check_change(transport(), before, change, core_.circle());
    if (status != ModifyStatus::done) return status;
    const QueuePairState after = change.state.value_or(before);
    core_.apply(change);
    if (change.send_psn) next_ = *change.send_psn;
    if (after == QueuePairState::reset) {
        core_.clear(adapter);
        next_ = {};
    } else if (after == QueuePairState::error) {
        core_.enter_error(adapter);
    } else {
        core_.set_state(after);
    }
    // A datagram queue pair has nothing in flight.
    if (after == QueuePairState::sqd && change.drained_notify.value_or(false)) {
        adapter.tell(PortEvent::What::drained, core_.number());
    }
    return status;
}

PostStatus UdQueuePair::post_send(const WorkRequest& request, Adapter& adapter) {
    const Request what = request.terms.request;
    if (what != Request::send && what != Request::send_immediate) return PostStatus::not_supported;
    if (core_.state() < QueuePairState::rts) return PostStatus::wrong_state;
    const PostStatus status = core_.sends.post(request, path_mtu_);
    const bool failed =
        core_.state() == QueuePairState::error || core_.state() == QueuePairState::sqe;
    if (status == PostStatus::accepted && failed) core_.flush_sends(adapter);
    return status;
}

PostStatus UdQueuePair::post_receive(const ReceiveRequest& request, Adapter& adapter) {
    if (core_.state() == QueuePairState::reset) return PostStatus::wrong_state;
    const PostStatus status = core_.receives.post(request);
    if (status == PostStatus::accepted && core_.state() == QueuePairState::error) {
        core_.flush_receives(adapter);
    }
    return status;
}

/// Returns false if the memory of the receive request is not writable.
bool UdQueuePair::write_front(const ReceiveEntry& entry, const Packet& packet, PeerId from,
                              const Adapter& adapter) const {
    const Gid* const peer = adapter.neighbours.gid(from);
    const auto& own = adapter.neighbours.own_gid();
    if (peer == nullptr || !own) return true;
    const auto header =
        network_header(*peer, *own, packet_size(*packet.opcode, packet.payload.size()));
    return scatter(entry.pieces, 0, header, adapter.memory, core_.config().domain);
}

RxVerdict UdQueuePair::on_packet(const Packet& packet, PeerId from, Adapter& adapter) {
    QueuePairCounters& counters = core_.counters;
    const auto refuse = [](std::uint64_t& reason) {
        ++reason;
        return RxVerdict::refused;
    };
    if (!may_receive(core_.state())) return refuse(counters.wrong_state);
    if (packet.opcode->transport() != Transport::ud) return refuse(counters.not_allowed);
    if (packet.headers.deth.qkey != core_.attributes().qkey) return refuse(counters.bad_qkey);
    const std::size_t size = packet.payload.size();
    if (size > path_mtu_ || !packet.padded_right()) return refuse(counters.bad_length);
    const ReceiveEntry* entry = core_.receives.take(adapter);
    if (entry == nullptr) return refuse(counters.not_ready);
    if (size + front_room > entry->length) return refuse(counters.bad_length);
    if (core_.receives.wanted() != CompletionStatus::success ||
        !write_front(*entry, packet, from, adapter) ||
        !scatter(entry->pieces, front_room, packet.payload, adapter.memory,
                 core_.config().domain)) {
        ib::fail_receive({core_, adapter}, CompletionStatus::local_protection_error);
        adapter.tell(PortEvent::What::receive_faulty, core_.number());
        core_.enter_error(adapter);
        return refuse(counters.receive_faulty);
    }
    ++counters.executed;
    Completion completion{.id = entry->id,
                          .kind = CompletionKind::receive,
                          .length = static_cast<std::uint32_t>(size) + front_room,
                          .from = from,
                          .from_queue_pair = packet.headers.deth.source_qp};
    if (packet.opcode->has(Extended::immediate)) {
        completion.immediate = packet.headers.immediate.value;
    }
    core_.receives.finish();
    core_.complete_receive(adapter, completion, packet.bth().solicited);
    return RxVerdict::accepted;
}

std::optional<PeerId> UdQueuePair::next_peer() const {
    if (core_.state() != QueuePairState::rts || core_.sends.empty()) return std::nullopt;
    return core_.sends[0].terms.to;
}

bool UdQueuePair::poll_transmit(Instant, TxFrame& out, Adapter& adapter) {
    if (core_.state() != QueuePairState::rts || core_.sends.empty()) return false;
    SendEntry& entry = core_.sends.front();
    entry.packets = 1;
    const auto payload =
        gather(entry, {.length = entry.length}, adapter.memory, core_.config().domain);
    const bool fails = entry.wanted != CompletionStatus::success;
    if (fails || !payload) {
        core_.complete_send(adapter,
                            fails ? entry.wanted : CompletionStatus::local_protection_error);
        core_.enter_send_error(adapter);
        return false;
    }
    Headers headers = headers_of(entry, 0, Transport::ud);
    const bool own = (entry.terms.qkey & controlled_qkey) != 0;
    headers.deth = {own ? core_.attributes().qkey : entry.terms.qkey, core_.number()};
    core_.address(headers, next_);
    headers.bth.dest_qp = entry.terms.to_queue_pair;
    encode(headers, payload->all(), out);
    ++core_.counters.sent;
    next_ = core_.circle().advance(next_, 1);
    core_.complete_send(adapter, CompletionStatus::success);
    return true;
}

void UdQueuePair::fingerprint(Instant, Fingerprint& sink) const {
    core_.fingerprint(sink);
    sink.add(next_.value());
}

}  // namespace wireproof::proto::ib
