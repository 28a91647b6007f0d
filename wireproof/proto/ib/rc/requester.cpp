#include "wireproof/proto/ib/rc/requester.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::uint32_t lossy_for = 1024;

}  // namespace

void RcRequester::start(const QueuePairCore& core) {
    reset();
    backoff_ = Backoff(core.config().backs_off);
    flow_ = RcFlow(core.attributes().congestion, core.config().in_flight_max,
                   core.config().asks_after_silence);
    oldest_ = cursor_ = next_ = core.attributes().send_psn;
    allow_data_requests(core.attributes().max_rd_atomic);
    unlimited_ = !core.config().credits;
    retries_left_ = core.attributes().retry_count;
    rnr_retries_left_ = core.attributes().rnr_retry;
}

void RcRequester::leave(Turn turn) {
    turn.adapter.windows.change(turn.core.attributes().address, under_way_, 0);
    turn.adapter.windows.wait_no_more(turn.core.attributes().address, turn.core.number());
    under_way_ = 0;
}

void RcRequester::allow_data_requests(std::size_t count) {
    Ring<Asked> asked(std::max({count, asked_.size(), std::size_t{1}}));
    for (std::size_t i = 0; i < asked_.size(); ++i) asked.push(asked_[i]);
    asked_ = std::move(asked);
}

bool RcRequester::poll_transmit(Instant now, Turn turn, TxFrame& out) {
    if (timers_.running(Timer::not_ready)) return false;
    if (flow_.wants_again() && may_send(turn.core.state())) {
        return send_oldest_again(now, turn, out);
    }
    if (in_flight(turn.core) >= backoff_.window()) return false;
    while (may_send(turn.core.state()) && cursor_entry_ < turn.core.sends.size()) {
        SendEntry& entry = turn.core.sends[cursor_entry_];
        if (!entry.begun) {
            if (!may_begin(entry, turn.core) || waits_for_answers(entry, turn)) return false;
            if (!begin(entry, turn)) return false;
        }
        if (entry.packets == 0) {  // a local request that has run
            ++cursor_entry_;
            retire(turn);
            continue;
        }
        if (!may_send_packet(entry, turn.core)) return false;
        const bool asks_data = wants_data(entry.terms.request);
        const std::uint32_t psns =
            asks_data ? responses_to_ask(entry, turn) : (has_room(1, turn) ? 1U : 0U);
        if (psns == 0 || !send_packet(now, entry, psns, turn, out)) return false;
        count_under_way(turn);
        return true;
    }
    return false;
}

/// Sends the packet at the cursor. Returns false if the memory is gone.
bool RcRequester::send_packet(Instant now, const SendEntry& entry, std::uint32_t psns, Turn turn,
                              TxFrame& out) {
    if (wants_data(entry.terms.request)) {
        send_data_request(entry, psns, turn.core, out);
        sent(now, entry, psns, turn, out);
        return true;
    }
    const std::uint32_t index = turn.core.circle().steps_after(cursor_, entry.first);
    const auto payload = gather(entry, range_of(entry.length, index, turn.core.path_mtu()),
                                turn.adapter.memory, turn.core.config().domain);
    if (!payload) {
        // It is not known whether the peer received the requests before this one.
        while (&turn.core.sends.front() != &entry) {
            turn.core.complete_send(turn.adapter, CompletionStatus::flushed);
        }
        fail(CompletionStatus::local_protection_error, turn);
        return false;
    }
    send_message_packet(entry, *payload, turn, out);
    sent(now, entry, psns, turn, out);
    return true;
}

/// RC-34: the responder is silent. A copy of the oldest packet, or of the oldest part of a Read,
/// asks what has arrived. The packets after it stay in flight.
bool RcRequester::send_oldest_again(Instant now, Turn turn, TxFrame& out) {
    const Psn resume = std::exchange(cursor_, oldest_);
    const std::size_t resume_entry = std::exchange(cursor_entry_, 0);
    const SendEntry& entry = turn.core.sends.front();
    const bool data = wants_data(entry.terms.request);
    const std::uint32_t psns = data ? asked_part(turn.core) : 1;
    if (!send_packet(now, entry, psns, turn, out)) return false;
    ++turn.core.counters.silences;
    lossy_ = lossy_for;
    flow_.left_again(now);
    cursor_ = resume;
    cursor_entry_ = resume_entry;
    return true;
}

// RC-13: each part of a Read counts as one request.
bool RcRequester::may_ask(const QueuePairCore& core) const {
    return asked_.empty() || asked_.size() < core.attributes().max_rd_atomic;
}

/// Without credit (RC-16) and with nothing in flight, one packet may leave. It asks whether the
/// peer grants more now (RC-28).
bool RcRequester::may_begin(const SendEntry& entry, const QueuePairCore& core) const {
    const Request request = entry.terms.request;
    if (core.state() != QueuePairState::rts) return false;
    // RC-39
    if (entry.terms.fence && !asked_.empty()) return false;
    if (changes_what_is_read(entry)) return false;
    if (entry.status != CompletionStatus::success) return false;
    if (is_local(request)) return true;
    // If the peer allows none, asked_ is empty and begin() reports the error of the first one.
    if (wants_data(request) && !may_ask(core)) return false;
    const std::uint64_t half = core.circle().modulus() / 2;
    const std::uint64_t psns =
        request == Request::read ? packets_of(entry.length, core.path_mtu()) : 1;
    if (core.circle().steps_after(next_, oldest_) + psns > half) return false;
    if (unlimited_ || !takes_receive(request)) return true;
    const Msn number = core.message_circle().advance(message_, 1);
    return difference(number, limit_, core.message_circle()) <= 0 || oldest_ == next_;
}

/// RC-41: the request would change bytes that a Read without an answer reads.
bool RcRequester::changes_what_is_read(const SendEntry& entry) const {
    if (asked_.empty() || !changes_memory(entry.terms.request)) return false;
    const WorkTerms& terms = entry.terms;
    const std::uint64_t length = is_atomic(terms.request) ? 8 : entry.length;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
        const Reth& read = asked_[i].of;
        if (read.rkey == terms.remote_key && read.address < terms.remote_address + length &&
            terms.remote_address < read.address + read.length) {
            return true;
        }
    }
    return false;
}

/// RC-38: answers of this side that were owed when the message was posted leave first. The queue
/// pair waits until one of them has left.
bool RcRequester::waits_for_answers(const SendEntry& entry, Turn turn) {
    if (entry.after == 0) return false;
    if (turn.adapter.owed.owed(turn.core.attributes().address, entry.after) == 0) return false;
    turn.adapter.owed.wait(turn.core.number());
    return true;
}

/// Returns false if the request cannot begin. Its failure is reported after all earlier requests
/// have ended.
bool RcRequester::begin(SendEntry& entry, Turn turn) {
    const Request request = entry.terms.request;
    if (entry.wanted != CompletionStatus::success) {
        entry.status = entry.wanted;
    } else if (is_local(request)) {
        entry.status = turn.core.run_local(entry, turn.adapter);
    } else if (!all_registered(entry.pieces, turn.adapter.memory, turn.core.config().domain,
                               wants_data(request))) {
        entry.status = CompletionStatus::local_protection_error;
    } else if (wants_data(request) && turn.core.attributes().max_rd_atomic == 0) {
        entry.status = CompletionStatus::local_operation_error;
    }
    if (entry.status != CompletionStatus::success) {
        retire(turn);
        return false;
    }
    entry.begun = true;
    entry.packets = 0;
    if (is_local(request)) return true;
    entry.first = next_;
    entry.packets =
        is_atomic(request)
            ? 1U
            : static_cast<std::uint32_t>(packets_of(entry.length, turn.core.path_mtu()));
    message_ = turn.core.message_circle().advance(message_, 1);
    entry.probe = !unlimited_ && takes_receive(request) &&
                  difference(message_, limit_, turn.core.message_circle()) > 0;
    if (entry.probe) ++turn.core.counters.probes;
    if (wants_data(request)) data_psns_ += entry.packets;
    return true;
}

/// For a request that has begun.
bool RcRequester::may_send_packet(const SendEntry& entry, const QueuePairCore& core) const {
    if (wants_data(entry.terms.request)) return true;
    // The packets after a probe wait until the peer has accepted the probe (RC-28).
    if (entry.probe && cursor_ != entry.first && oldest_ == entry.first) return false;
    const std::uint64_t out = core.circle().steps_after(cursor_, oldest_);
    if (out >= core.circle().modulus() / 2) return false;
    return out < core.config().in_flight_max + data_psns_;
}

/// Asks for an acknowledgement at least twice in a window of the peer. If the window is full, asks
/// in each packet: other queue pairs wait for room.
std::uint32_t RcRequester::ack_every(ConstTurn turn) const {
    const PeerId peer = turn.core.attributes().address;
    if (turn.adapter.windows.room(peer) <= 1 || flow_.wants_again()) return 1;
    const std::uint32_t every =
        std::min(turn.core.config().ack_every, turn.adapter.windows.packets(peer) / 2);
    return controlled(turn) ? std::min(every, flow_.ack_every(in_flight(turn.core))) : every;
}

/// Whether the last packet of the message asks for an acknowledgement (RC-37). It does so if the
/// program gets a completion, if the packet is sent again, and if the answer is needed to measure
/// the path or to make room in the window of the peer.
bool RcRequester::wants_ack(const SendEntry& entry, ConstTurn turn) const {
    const PeerId peer = turn.core.attributes().address;
    if (!turn.adapter.neighbours.acks_unasked(peer) || turn.core.gives_completion(entry))
        return true;
    if (cursor_ != next_ || controlled(turn)) return true;
    return turn.adapter.windows.room(peer) < turn.adapter.windows.packets(peer) / 2;
}

void RcRequester::send_message_packet(const SendEntry& entry, const PayloadPieces& payload,
                                      Turn turn, TxFrame& out) {
    // RC-23: the opcode follows from the place in the message, also when the packet is sent again.
    const std::uint32_t index = turn.core.circle().steps_after(cursor_, entry.first);
    Headers headers = headers_of(entry, index, transport);
    turn.core.address(headers, cursor_);
    since_ack_request_ = unasked(turn.core) + 1;
    const bool asks = (entry.ends_at(index) && wants_ack(entry, turn)) ||
                      (entry.probe && index == 0) || backoff_.window() != Backoff::unlimited ||
                      since_ack_request_ >= ack_every(turn);
    if (asks) since_ack_request_ = 0;
    headers.bth.ack_request = asks;
    encode(headers, payload.all(), out);
}

/// Whether the peer and the path have room for the packets. If the peer has none, the queue pair
/// waits for room.
bool RcRequester::has_room(std::uint32_t packets, Turn turn) const {
    if (flow_room(turn) == 0) return false;
    const PeerId peer = turn.core.attributes().address;
    if (turn.adapter.windows.room(peer) >= packets || turn.adapter.windows.idle(peer)) return true;
    turn.adapter.windows.wait(peer, turn.core.number(), packets);
    return false;
}

/// A Read that is longer than the window is asked for in parts. For the peer, each part is a Read
/// of its own, so a part is repeated with the same end. Returns 0 if there is no room now.
std::uint32_t RcRequester::responses_to_ask(const SendEntry& entry, Turn turn) const {
    const Circle& circle = turn.core.circle();
    const std::uint32_t room = flow_room(turn);
    if (room == 0) return 0;
    if (const std::uint32_t again = asked_part(turn.core); again > 0) return again;
    if (!may_ask(turn.core)) return 0;
    const std::uint32_t rest =
        circle.steps_after(circle.advance(entry.first, entry.packets), cursor_);
    std::uint32_t least = std::min(rest, turn.adapter.windows.least());
    if (controlled(turn)) {
        // Parts that are too small use up the depth.
        least = std::min(least, std::max(flow_.packets() / 2, 1U));
        if (room < least && flow_.awaits_answer(in_flight(turn.core))) return 0;
    }
    if (!has_room(least, turn)) return 0;
    return std::min(
        std::clamp(turn.adapter.windows.room(turn.core.attributes().address), least, rest), room);
}

/// The rest of the Read request or Atomic at the cursor that was sent before; 0: there is none.
std::uint32_t RcRequester::asked_part(const QueuePairCore& core) const {
    const Circle& circle = core.circle();
    if (cursor_ == next_) return 0;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
        const std::uint32_t left = circle.steps_after(asked_[i].end, cursor_);
        if (left > 0 && left <= circle.steps_after(next_, cursor_)) return left;
    }
    return 0;
}

void RcRequester::send_data_request(const SendEntry& entry, std::uint32_t responses,
                                    QueuePairCore& core, TxFrame& out) {
    const WorkTerms& terms = entry.terms;
    Headers headers;
    core.address(headers, cursor_);
    headers.bth.ack_request = true;
    since_ack_request_ = 0;
    if (cursor_ == next_) {
        asked_.push({core.circle().advance(cursor_, responses),
                     terms.request == Request::read ? Reth{terms.remote_address, terms.remote_key,
                                                           static_cast<std::uint32_t>(entry.length)}
                                                    : Reth{}});
    }
    if (terms.request == Request::read) {
        // RC-12: does not ask again for bytes that have arrived.
        const std::uint64_t index = core.circle().steps_after(cursor_, entry.first);
        const std::uint64_t got = index * core.path_mtu();
        const std::uint64_t part =
            std::min(entry.length - got, std::uint64_t{responses} * core.path_mtu());
        headers.bth.opcode = opcode_of(transport, Operation::read_request);
        headers.reth = {terms.remote_address + got, terms.remote_key,
                        static_cast<std::uint32_t>(part)};
    } else {
        const bool swaps = terms.request == Request::compare_swap;
        headers.bth.opcode =
            opcode_of(transport, swaps ? Operation::compare_swap : Operation::fetch_add);
        headers.atomic = {terms.remote_address, terms.remote_key, terms.swap_or_add, terms.compare};
    }
    encode(headers, {}, out);
}

void RcRequester::sent(Instant now, const SendEntry& entry, std::uint32_t psns, Turn turn,
                       TxFrame& out) {
    ++turn.core.counters.sent;
    if (difference(cursor_, next_, turn.core.circle()) < 0) {
        ++turn.core.counters.resent;
        out.mark_resent();
    }
    if (!flow_.wants_again() && watched(turn)) {
        const bool ends = cursor_ == turn.core.circle().advance(entry.first, entry.packets - 1);
        flow_.left(now, {.in_flight = in_flight(turn.core),
                         .psns = psns,
                         .asks = since_ack_request_ == 0,
                         .answered = ends});
    }
    if (cursor_ == oldest_) backoff_.oldest_left(out.size());
    cursor_ = turn.core.circle().advance(cursor_, psns);
    if (difference(cursor_, next_, turn.core.circle()) > 0) next_ = cursor_;
    if (cursor_ == turn.core.circle().advance(entry.first, entry.packets)) ++cursor_entry_;
    if (!timers_.running(Timer::answer)) await_answer(now, turn.core);
}

bool RcRequester::amid_message(const QueuePairCore& core) const {
    if (cursor_entry_ >= core.sends.size()) return false;
    const SendEntry& entry = core.sends[cursor_entry_];
    return entry.begun && cursor_ != entry.first;
}

void RcRequester::count_under_way(Turn turn) {
    const std::uint32_t now_under_way = turn.core.circle().steps_after(cursor_, oldest_);
    turn.adapter.windows.change(turn.core.attributes().address, under_way_, now_under_way);
    under_way_ = now_under_way;
}

void RcRequester::await_answer(Instant now, const QueuePairCore& core) {
    const std::uint8_t code = core.attributes().timeout;
    if (code == 0) return;  // no timeout (RC-9)
    // RC-9: at least the nominal time.
    const Duration wait = ack_timeout(code) * core.config().timeout_factor;
    timers_.set(Timer::answer, now + backoff_.wait(wait));
}

/// One retry for one cause: other missing packets may still be in flight (RC-22).
void RcRequester::retry(Instant now, Turn turn) {
    if (went_back_ || !backoff_.acts_on_notice()) return;
    if (!take_retry(turn)) return;
    ++turn.core.counters.went_back;
    went_back_ = true;
    flow_.lost();
    lost(now, turn);
}

/// Returns false if no retry is left.
bool RcRequester::take_retry(Turn turn) {
    if (turn.core.config().retries_unlimited) return true;
    if (retries_left_ == 0) {  // RC-10
        fail(CompletionStatus::retry_exceeded, turn);
        return false;
    }
    --retries_left_;
    return true;
}

std::optional<Psn> RcRequester::missing_data(ConstTurn turn) const {
    if (lossy_ == 0 || asked_.empty() || timers_.running(Timer::not_ready)) return std::nullopt;
    if (turn.adapter.windows.is_near(turn.core.attributes().address)) return std::nullopt;
    return asked_.back().end;
}

/// A packet is lost: it and all packets after it are sent again.
void RcRequester::lost(Instant now, Turn turn) {
    using Loss = PeerWindows::Loss;
    lossy_ = lossy_for;
    turn.adapter.windows.on_lost(turn.core.attributes().address,
                                 flow_.on() && went_back_ ? Loss::controlled : Loss::any);
    backoff_.retransmits(now);
    go_back(went_back_ ? RcFlow::Earlier::discarded : RcFlow::Earlier::unknown);
    count_under_way(turn);
}

void RcRequester::go_back(RcFlow::Earlier earlier) {
    // The PSN of a NAK is the oldest one now (RC-3).
    cursor_ = oldest_;
    cursor_entry_ = 0;
    since_ack_request_ = 0;
    flow_.went_back(earlier);
    // The timer starts again with the first packet that is sent again.
    timers_.stop(Timer::answer);
}

void RcRequester::on_deadline(Instant now, Turn turn) {
    (void)timers_.take_expired(Timer::not_ready, now);
    if (flow_.watches()) flow_.on_deadline(now);
    if (!timers_.take_expired(Timer::answer, now)) return;
    ++turn.core.counters.timeouts;
    const bool alive = turn.adapter.neighbours.is_alive(turn.core.attributes().address);
    if (!alive && !take_retry(turn)) return;
    went_back_ = false;
    flow_.timed_out(now);
    lost(now, turn);
}

/// Completes requests that ended before it was their turn and are the oldest now.
void RcRequester::retire(Turn turn) {
    while (!turn.core.sends.empty()) {
        const SendEntry& entry = turn.core.sends.front();
        if (entry.status != CompletionStatus::success) return fail(entry.status, turn);
        if (!entry.begun || entry.packets > 0) return;
        turn.core.complete_send(turn.adapter, CompletionStatus::success);
        if (cursor_entry_ > 0) --cursor_entry_;
    }
}

void RcRequester::fail(CompletionStatus status, Turn turn) {
    turn.core.complete_send(turn.adapter, status);
    turn.core.enter_error(turn.adapter);
}

void RcRequester::fingerprint(Instant now, Fingerprint& sink, ConstTurn turn) const {
    for (std::size_t i = cursor_entry_; i < turn.core.sends.size(); ++i) {
        const SendEntry& entry = turn.core.sends[i];
        if (entry.begun) continue;
        sink.add(turn.adapter.owed.owed(turn.core.attributes().address, entry.after));
    }
    sink.add(next_.value());
    sink.add(oldest_.value());
    sink.add(cursor_.value());
    sink.add(cursor_entry_);
    sink.add(asked_.size());
    for (std::size_t i = 0; i < asked_.size(); ++i) {
        sink.add(asked_[i].end.value());
        asked_[i].of.fingerprint(sink);
    }
    sink.add(under_way_);
    sink.add(data_psns_);
    sink.add(since_ack_request_);
    sink.add(message_.value());
    sink.add(limit_.value());
    sink.add(unlimited_);
    sink.add(retries_left_);
    sink.add(rnr_retries_left_);
    sink.add(went_back_);
    sink.add(turn.core.config().message_hold > Duration() ? lossy_ : 0);
    backoff_.fingerprint(sink);
    timers_.fingerprint(now, sink);
    flow_.fingerprint(now, sink);
}

}  // namespace wireproof::proto::ib
