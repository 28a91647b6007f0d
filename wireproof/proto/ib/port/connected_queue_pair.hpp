// A queue pair with one peer: a requester, a responder, and the parts that both share. UC is a
// subset of RC. Both use the same code for states, queues, segmentation and the execution of Sends
// and Writes. Only RC answers requests and retransmits packets.
#pragma once

#include "wireproof/proto/ib/rc/requester.hpp"
#include "wireproof/proto/ib/rc/responder.hpp"
#include "wireproof/proto/ib/transport/congestion_notices.hpp"
#include "wireproof/proto/ib/transport/queue_pair_core.hpp"
#include "wireproof/proto/ib/uc/requester.hpp"
#include "wireproof/proto/ib/uc/responder.hpp"

namespace wireproof::proto::ib {

template <class Requester, class Responder>
class ConnectedQueuePair {
public:
    explicit ConnectedQueuePair(const QueuePairConfig& config) : core_(config) {}

    const QueuePairCore& core() const { return core_; }
    const Requester& requester() const { return requester_; }
    const Responder& responder() const { return responder_; }
    static constexpr Transport transport() { return Requester::transport; }

    void set_partition(std::uint16_t partition) { core_.partition = partition; }
    ModifyStatus modify(const QueuePairChange& change, Adapter& adapter);
    PostStatus post_send(const WorkRequest& request, Adapter& adapter);
    PostStatus post_receive(const ReceiveRequest& request, Adapter& adapter);
    void fail_send(std::uint64_t nth, CompletionStatus status) { core_.sends.fail(nth, status); }
    void fail_receive(std::uint64_t nth, CompletionStatus status) {
        core_.receives.fail(nth, status);
    }

    /// A packet for this queue pair, with its transport and from its peer.
    RxVerdict on_packet(Instant now, const Packet& packet, Adapter& adapter);
    /// A router marked this packet. Call it before on_packet.
    void on_marked(Instant now, const Packet& packet);
    /// The peer says that a router marked packets of this queue pair.
    void on_notification(Instant now);
    /// A packet with an opcode that does not exist.
    RxVerdict on_reserved(Instant now, const Bth& bth, Adapter& adapter);
    void on_deadline(Instant now, Adapter& adapter);
    /// The queue pair is removed or reset: it has nothing in flight any more.
    void leave(Adapter& adapter) {
        requester_.leave({core_, adapter});
        if constexpr (transport() == Transport::rc) responder_.leave(adapter);
    }
    void enter_error(Adapter& adapter) {
        const QueuePairState before = core_.state();
        core_.enter_error(adapter);
        note_state(before, adapter);
    }
    bool poll_transmit(Instant now, TxFrame& out, Adapter& adapter);
    void release_acks() { responder_.release_acks(); }
    void release_owed_ack() { responder_.release_owed_ack(); }
    /// When a packet counts as unanswered.
    Instant next_timeout() const { return requester_.next_timeout(); }
    Instant next_deadline() const {
        return earliest(earliest(requester_.next_deadline(), responder_.next_deadline()),
                        core_.held.deadline());
    }
    /// Empty if the queue pair is not connected.
    std::optional<PeerId> next_peer() const {
        const QueuePairAttributes& known = core_.attributes();
        return known.has_address ? std::optional(known.address) : std::nullopt;
    }
    Psns psns() const { return {.send = requester_.next(), .receive = responder_.expected()}; }
    void fingerprint(Instant now, Fingerprint& sink, const Adapter& adapter) const;

private:
    bool refuse_by_state();
    RxVerdict on_request(Instant now, const Packet& packet, Adapter& adapter);
    void complete_held(Instant now, Adapter& adapter);
    void note_state(QueuePairState before, Adapter& adapter);
    void note_drained(Adapter& adapter);

    QueuePairCore core_;
    Requester requester_;
    Responder responder_;
    CongestionNotices notices_;
    bool answer_first_ = true;  // answers and requests take turns
    bool established_ = false;  // the event was reported
    bool drained_due_ = false;  // the event must still be reported
};

template <class Requester, class Responder>
ModifyStatus ConnectedQueuePair<Requester, Responder>::modify(const QueuePairChange& change,
                                                              Adapter& adapter) {
    const QueuePairState before = core_.state();
    const ModifyStatus status = check_change(transport(), before, change, core_.circle());
    if (status != ModifyStatus::done) return status;
    const QueuePairState after = change.state.value_or(before);
    if (after == QueuePairState::reset) leave(adapter);
    const PeerId peer = core_.attributes().address;
    const bool moves = change.address.value_or(peer) != peer;
    if (moves) requester_.leave({core_, adapter});
    core_.apply(change);
    if (moves) requester_.arrive({core_, adapter});
    if (after == QueuePairState::reset) {
        core_.clear(adapter);
        requester_.reset();
        responder_.reset();
        notices_ = {};
        answer_first_ = true;
        established_ = drained_due_ = false;
        return status;
    }
    if (after == QueuePairState::error) {
        enter_error(adapter);
        return status;
    }
    core_.set_state(after);
    if (before == QueuePairState::init && after == QueuePairState::rtr) {
        responder_.start(core_);
    } else if constexpr (Requester::transport == Transport::rc) {
        if (change.max_dest_rd_atomic) responder_.keep_resources(*change.max_dest_rd_atomic);
        if (change.max_rd_atomic) requester_.allow_data_requests(*change.max_rd_atomic);
    }
    if (before == QueuePairState::rtr && after == QueuePairState::rts) requester_.start(core_);
    if (after == QueuePairState::sqd) drained_due_ = change.drained_notify.value_or(drained_due_);
    note_drained(adapter);
    return status;
}

template <class Requester, class Responder>
PostStatus ConnectedQueuePair<Requester, Responder>::post_send(const WorkRequest& request,
                                                               Adapter& adapter) {
    if (!Requester::supports(request.terms.request)) return PostStatus::not_supported;
    if (core_.state() < QueuePairState::rts) return PostStatus::wrong_state;
    const PostStatus status = core_.sends.post(request, message_max);  // UC-9
    if (status != PostStatus::accepted) return status;
    if constexpr (transport() == Transport::rc) {
        Requester::posted(core_.sends.back(), {core_, adapter});
    }
    // In an error state, a request is accepted and completes at once as flushed.
    if (core_.state() == QueuePairState::error || core_.state() == QueuePairState::sqe) {
        core_.flush_sends(adapter);
    }
    return status;
}

template <class Requester, class Responder>
PostStatus ConnectedQueuePair<Requester, Responder>::post_receive(const ReceiveRequest& request,
                                                                  Adapter& adapter) {
    if (core_.state() == QueuePairState::reset) return PostStatus::wrong_state;
    const PostStatus status = core_.receives.post(request);
    if (status == PostStatus::accepted && core_.state() == QueuePairState::error) {
        core_.flush_receives(adapter);
    }
    return status;
}

template <class Requester, class Responder>
bool ConnectedQueuePair<Requester, Responder>::refuse_by_state() {
    if (may_receive(core_.state())) return false;
    ++core_.counters.wrong_state;
    return true;
}

template <class Requester, class Responder>
RxVerdict ConnectedQueuePair<Requester, Responder>::on_packet(Instant now, const Packet& packet,
                                                              Adapter& adapter) {
    if (refuse_by_state()) return RxVerdict::refused;
    const QueuePairState before = core_.state();
    // Only a packet in sequence counts. Others may be late packets of an earlier connection with
    // this queue pair number.
    const bool in_sequence =
        !packet.opcode->is_response() && packet.bth().psn == responder_.expected();
    if (before == QueuePairState::rtr && !established_ && in_sequence) {
        established_ = true;
        adapter.tell(PortEvent::What::established, core_.number());
    }
    RxVerdict verdict = RxVerdict::refused;
    if (!packet.opcode->is_response()) {
        verdict = on_request(now, packet, adapter);
    } else if (may_send(before)) {
        verdict = requester_.on_response(now, packet, {core_, adapter});
        complete_held(now, adapter);
    } else {
        ++core_.counters.wrong_state;
    }
    note_state(before, adapter);
    note_drained(adapter);
    return verdict;
}

// RC-35, 36: responses to Reads are packets of a flow that this side controls.
template <class Requester, class Responder>
void ConnectedQueuePair<Requester, Responder>::on_marked(Instant now, const Packet& packet) {
    if (!may_receive(core_.state())) return;
    ++core_.counters.marked;
    notices_.on_marked(now);
    if constexpr (Requester::transport == Transport::rc) {
        if (packet.opcode->verb == Verb::read_response) requester_.marked();
    }
}

template <class Requester, class Responder>
void ConnectedQueuePair<Requester, Responder>::on_notification(Instant now) {
    if constexpr (Requester::transport == Transport::rc) {
        if (may_send(core_.state())) requester_.on_notification(now, core_);
    }
}

template <class Requester, class Responder>
RxVerdict ConnectedQueuePair<Requester, Responder>::on_request(Instant now, const Packet& packet,
                                                               Adapter& adapter) {
    if constexpr (transport() == Transport::rc) {
        const Duration hold = core_.config().message_hold;
        const auto missing = hold > Duration() && packet.opcode->ends()
                                 ? requester_.missing_data({core_, adapter})
                                 : std::nullopt;
        if (missing) core_.held.begin(*missing, now + hold);
        const RxVerdict verdict = responder_.on_request(now, packet, {core_, adapter});
        core_.held.end();
        return verdict;
    } else {
        return responder_.on_request(now, packet, {core_, adapter});
    }
}

/// RC-40: the answers that messages wait for have arrived, or the wait is over.
template <class Requester, class Responder>
void ConnectedQueuePair<Requester, Responder>::complete_held(Instant now, Adapter& adapter) {
    if constexpr (transport() == Transport::rc) {
        if (core_.held.empty()) return;
        core_.complete_held(adapter, [&](const MessageHold::Held& one) {
            return one.deadline <= now || requester_.has(one.until, core_);
        });
    }
}

template <class Requester, class Responder>
RxVerdict ConnectedQueuePair<Requester, Responder>::on_reserved(Instant, const Bth& bth,
                                                                Adapter& adapter) {
    if (refuse_by_state()) return RxVerdict::refused;
    const QueuePairState before = core_.state();
    const RxVerdict verdict = responder_.on_reserved(bth, {core_, adapter});
    note_state(before, adapter);
    return verdict;
}

template <class Requester, class Responder>
void ConnectedQueuePair<Requester, Responder>::on_deadline(Instant now, Adapter& adapter) {
    responder_.on_deadline(now);
    complete_held(now, adapter);
    if (requester_.next_deadline() > now) return;
    const QueuePairState before = core_.state();
    requester_.on_deadline(now, {core_, adapter});
    note_state(before, adapter);
}

template <class Requester, class Responder>
bool ConnectedQueuePair<Requester, Responder>::poll_transmit(Instant now, TxFrame& out,
                                                             Adapter& adapter) {
    if (notices_.poll_transmit(now, core_, out)) return true;
    const QueuePairState before = core_.state();
    bool sent = answer_first_ && responder_.poll_transmit(now, {core_, adapter}, out);
    answer_first_ = !sent;
    if (!sent) {
        sent = requester_.poll_transmit(now, {core_, adapter}, out);
        // The last packet of an answer must leave before a held ACK. An ACK between two packets of
        // the answer would separate them, and then they cannot share a super-packet.
        if (sent && !requester_.amid_message(core_)) responder_.request_left(now);
    }
    if (!sent) sent = responder_.poll_transmit(now, {core_, adapter}, out);
    note_state(before, adapter);
    note_drained(adapter);
    return sent;
}

/// One half may cause the error state; the other half must then stop.
template <class Requester, class Responder>
void ConnectedQueuePair<Requester, Responder>::note_state(QueuePairState before, Adapter& adapter) {
    if (core_.state() == before || core_.state() != QueuePairState::error) return;
    leave(adapter);
    requester_.reset();
    responder_.on_error();
}

template <class Requester, class Responder>
void ConnectedQueuePair<Requester, Responder>::note_drained(Adapter& adapter) {
    if (!drained_due_ || core_.state() != QueuePairState::sqd || !requester_.idle(core_)) return;
    drained_due_ = false;
    adapter.tell(PortEvent::What::drained, core_.number());
}

template <class Requester, class Responder>
void ConnectedQueuePair<Requester, Responder>::fingerprint(Instant now, Fingerprint& sink,
                                                           const Adapter& adapter) const {
    core_.fingerprint(sink);
    if constexpr (transport() == Transport::rc) {
        requester_.fingerprint(now, sink, {core_, adapter});
    } else {
        requester_.fingerprint(now, sink);
    }
    responder_.fingerprint(now, sink);
    core_.held.fingerprint(now, sink);
    notices_.fingerprint(now, sink);
    sink.add(answer_first_);
    sink.add(established_);
    sink.add(drained_due_);
}

using UcQueuePair = ConnectedQueuePair<UcRequester, UcResponder>;
using RcQueuePair = ConnectedQueuePair<RcRequester, RcResponder>;

}  // namespace wireproof::proto::ib
