#include "wireproof/proto/ib/rc/responder.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

// Room for the Reads and Atomics that a peer may have outstanding, each of which may be repeated
// once. There may be an acknowledgement between any two of them, and one NAK.
std::size_t answers_max(std::size_t resources) {
    return 4 * resources + 8;
}

constexpr std::uint32_t duplicates_owed_max = 1024;

/// How long an ACK may be held, while the requester continues or for the program's answer. A
/// requester that obeys credits waits for the credits in the ACK, so its ACKs are not held. The
/// responder does not know the answer timeout of the peer and assumes that it equals its own. Even
/// an ACK that is held for the longest time leaves within a third of this timeout.
Duration ack_delay(const QueuePairCore& core) {
    const Duration wanted = core.config().ack_delay;
    const std::uint8_t code = core.attributes().timeout;
    if (wanted == Duration() || core.config().credits) return {};
    if (code == 0) return wanted;
    const std::int64_t most = ack_timeout(code).picoseconds() / (4 * AckPolicy::delays_max);
    return std::min(wanted, Duration(most));
}

}  // namespace

void RcResponder::start(const QueuePairCore& core) {
    reset();
    expected_ = core.attributes().receive_psn;
    keep_resources(core.attributes().max_dest_rd_atomic);
}

void RcResponder::keep_resources(std::size_t count) {
    Ring<Resource> resources(count);
    while (resources_.size() > count) forget_oldest();
    for (std::size_t i = 0; i < resources_.size(); ++i) resources.push(resources_[i]);
    resources_ = std::move(resources);
    Ring<Answer> answers(std::max(answers_max(count), answers_.size()));
    for (std::size_t i = 0; i < answers_.size(); ++i) answers.push(answers_[i]);
    answers_ = std::move(answers);
}

RxVerdict RcResponder::on_request(Instant now, const Packet& packet, Turn turn) {
    const std::int64_t ahead = difference(packet.bth().psn, expected_, turn.core.circle());
    if (ahead > 0) return on_gap(turn.core);
    if (!room_to_answer(turn.core)) return RxVerdict::refused;
    // RC-1: a request that was executed is not executed again.
    if (ahead < 0) return on_duplicate(packet, turn);
    nak_given_ = false;
    return on_expected(now, packet, turn);
}

RxVerdict RcResponder::on_reserved(const Bth& bth, Turn turn) {
    const std::int64_t ahead = difference(bth.psn, expected_, turn.core.circle());
    if (ahead > 0) return on_gap(turn.core);
    ++turn.core.counters.not_allowed;
    if (ahead == 0 && !answers_.full()) {  // RC-18
        fail(NakCode::invalid_request, expected_, turn);
    }
    return RxVerdict::malformed;
}

// RC-2: one NAK until the expected PSN arrives.
RxVerdict RcResponder::on_gap(QueuePairCore& core) {
    ++core.counters.gaps;
    if (!nak_given_ && !answers_.full()) {
        nak_given_ = true;
        nak(Syndrome::nak(NakCode::sequence_error), expected_);
    }
    return RxVerdict::out_of_sequence;
}

/// Drops requests beyond all limits, as if they were lost.
bool RcResponder::room_to_answer(QueuePairCore& core) const {
    if (!answers_.full()) return true;
    ++core.counters.no_room_to_answer;
    return false;
}

RxVerdict RcResponder::on_expected(Instant now, const Packet& packet, Turn turn) {
    if (!message_.continued_by(*packet.opcode)) {
        ++turn.core.counters.sequence_broken;
        fail(NakCode::invalid_request, expected_, turn);  // RC-18
        return RxVerdict::refused;
    }
    switch (packet.opcode->verb) {
        case Verb::read_request: return on_read(packet, turn);
        case Verb::compare_swap:
        case Verb::fetch_add: return on_atomic(packet, turn);
        default: return on_message(now, packet, turn);
    }
}

RxVerdict RcResponder::on_message(Instant now, const Packet& packet, Turn turn) {
    if (const auto refusal = message_.execute(packet, turn)) {
        return refuse(*refusal, turn);
    }
    expected_ = turn.core.circle().advance(expected_, 1);
    // RC-14: a message counts when it ends.
    if (packet.opcode->ends()) completed_ = turn.core.message_circle().advance(completed_, 1);
    const AckPolicy::Request request{packet.opcode->ends(), packet.bth().ack_request};
    const AckPolicy::Terms terms{ack_delay(turn.core),
                                 turn.adapter.windows.is_near(turn.core.attributes().address),
                                 turn.core.config().acks_unasked};
    if (request.asks || (request.ends && terms.acks_all)) owe_ack();
    if (request.ends) owe_before_messages(packet, turn);
    acks_.executed(now, request, terms);
    return RxVerdict::accepted;
}

RxVerdict RcResponder::on_read(const Packet& packet, Turn turn) {
    const Reth& reth = packet.headers.reth;
    if (!turn.core.allows(RemoteRight::read) || resources_.capacity() == 0) {
        return refuse(Refusal::not_allowed, turn);
    }
    if (reth.length > message_max || !packet.payload.empty() || packet.bth().pad != 0) {
        return refuse(Refusal::bad_length, turn);
    }
    const Piece whole{reth.address, reth.length, reth.rkey};
    if (!turn.adapter.memory.remote(whole, RemoteRight::read, turn.core.bearer())) {
        return refuse(Refusal::bad_key, turn);
    }
    const auto packets = static_cast<std::uint32_t>(packets_of(reth.length, turn.core.path_mtu()));
    keep({.psn = expected_, .packets = packets, .from = reth});
    answers_.push(
        {.what = Answer::What::read,
         .psn = expected_,
         .packets = packets,
         .from = reth,
         .owed = turn.adapter.owed.owe(turn.core.attributes().address, turn.core.number(), false)});
    data_since_ack_ = ack_delay(turn.core) > Duration();
    // RC-14: a Read counts now, before its responses leave.
    expected_ = turn.core.circle().advance(expected_, packets);
    completed_ = turn.core.message_circle().advance(completed_, 1);
    ++turn.core.counters.executed;
    return RxVerdict::accepted;
}

RxVerdict RcResponder::on_atomic(const Packet& packet, Turn turn) {
    const AtomicEth& atomic = packet.headers.atomic;
    if (!turn.core.allows(RemoteRight::atomic) || resources_.capacity() == 0) {
        return refuse(Refusal::not_allowed, turn);
    }
    if (atomic.address % 8 != 0 || !packet.payload.empty() || packet.bth().pad != 0) {
        return refuse(Refusal::bad_length, turn);
    }
    const auto bytes = turn.adapter.memory.remote({atomic.address, 8, atomic.rkey},
                                                  RemoteRight::atomic, turn.core.bearer());
    std::uint64_t word = 0;  // in the byte order of this machine
    const Bytes held = std::as_writable_bytes(std::span(&word, 1));
    if (!bytes || !turn.adapter.memory.load(held, *bytes)) {
        return refuse(Refusal::bad_key, turn);
    }
    const std::uint64_t original = word;
    if (packet.opcode->verb == Verb::fetch_add) {
        word += atomic.swap_or_add;
    } else if (word == atomic.compare) {
        word = atomic.swap_or_add;
    }
    if (!turn.adapter.memory.store(*bytes, held)) return refuse(Refusal::bad_key, turn);
    keep({.verb = packet.opcode->verb,
          .psn = expected_,
          .from = {.address = atomic.address, .rkey = atomic.rkey},
          .original = original});
    answers_.push(
        {.what = Answer::What::atomic,
         .psn = expected_,
         .original = original,
         .owed = turn.adapter.owed.owe(turn.core.attributes().address, turn.core.number(), false)});
    data_since_ack_ = ack_delay(turn.core) > Duration();
    expected_ = turn.core.circle().advance(expected_, 1);
    completed_ = turn.core.message_circle().advance(completed_, 1);
    ++turn.core.counters.executed;
    return RxVerdict::accepted;
}

RxVerdict RcResponder::refuse(Refusal refusal, Turn turn) {
    count(refusal, turn.core.counters);
    switch (refusal) {
        case Refusal::not_ready:
            // The packets that follow cause no NAK 0x60 (RC-2). Soft-RoCE sends one (RC-32: R2).
            nak_given_ = true;
            nak(Syndrome::rnr_nak(turn.core.attributes().min_rnr_timer), expected_);
            break;
        // RC-18: NAK 0x61
        case Refusal::not_allowed:
        case Refusal::bad_length: fail(NakCode::invalid_request, expected_, turn); break;
        case Refusal::too_long:
            // The NAK names the packet that overflows (RC-30). Soft-RoCE answers 0x63 (RC-32: R1).
            fail_receive(turn, CompletionStatus::local_length_error);
            fail(NakCode::invalid_request, expected_, turn);
            break;
        // RC-17. The First of a Write checks the range, so the NAK names the First (RC-30).
        case Refusal::bad_key: fail(NakCode::remote_access, expected_, turn); break;
        // RC-18: NAK 0x63
        case Refusal::receive_faulty:
            fail_receive(turn, CompletionStatus::local_protection_error);
            fail(NakCode::remote_operational, expected_, turn);
            break;
    }
    return RxVerdict::refused;
}

void RcResponder::fail(NakCode code, Psn psn, Turn turn) {
    nak(Syndrome::nak(code), psn);
    failed_ = true;
    const auto what = code == NakCode::remote_access        ? PortEvent::What::access_refused
                      : code == NakCode::remote_operational ? PortEvent::What::receive_faulty
                                                            : PortEvent::What::request_refused;
    turn.adapter.tell(what, turn.core.number());
    turn.core.enter_error(turn.adapter);
}

void RcResponder::leave(Adapter& adapter) {
    for (std::size_t i = 0; i < answers_.size(); ++i) adapter.owed.settle(answers_[i].owed);
    ack_released_ = false;
}

void RcResponder::on_error() {
    message_.forget();
    if (!failed_) answers_.clear();
}

// RC-29: a new resource replaces the oldest. A duplicate of that oldest request is then dropped.
void RcResponder::keep(const Resource& resource) {
    if (resources_.full()) forget_oldest();
    resources_.push(resource);
}

void RcResponder::forget_oldest() {
    newest_forgotten_ = resources_.front().psn;
    resources_.pop();
}

void RcResponder::owe_ack() {
    // The ACK names the newest PSN at the time when it leaves, so one ACK is enough until then.
    if (answers_.empty() || answers_.back().what != Answer::What::ack) answers_.push({});
}

/// RC-38: an ACK that completes a Write leaves before each message of this side that is posted
/// later. RC-40: so does an ACK which names a request after a Read or an Atomic: it tells the
/// requester that their answer was lost.
void RcResponder::owe_before_messages(const Packet& packet, Turn turn) {
    const bool write = packet.opcode->verb == Verb::write && packet.bth().ack_request;
    if (!write && !data_since_ack_) return;
    if (answers_.empty() || answers_.back().what != Answer::What::ack) return;
    // A near peer loses no answer.
    if (!write && turn.adapter.windows.is_near(turn.core.attributes().address)) return;
    OwedAnswers::Number& owed = answers_.back().owed;
    if (owed == 0)
        owed = turn.adapter.owed.owe(turn.core.attributes().address, turn.core.number(), true);
}

bool RcResponder::owes_ack() const {
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        if (answers_[i].what == Answer::What::ack && answers_[i].owed != 0) return true;
    }
    return false;
}

void RcResponder::owe_duplicate_ack(Psn names) {
    const bool shared = !answers_.empty() && answers_.back().what == Answer::What::duplicate_ack &&
                        answers_.back().psn == names;
    if (!shared) answers_.push({.what = Answer::What::duplicate_ack, .psn = names});
    answers_.back().sent = std::min(answers_.back().sent + 1, duplicates_owed_max);
}

/// The newest executed PSN before the first Read or Atomic without an answer (RC-25).
Psn RcResponder::newest_to_acknowledge(const Circle& circle) const {
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        const Answer& answer = answers_[i];
        const bool data = answer.what == Answer::What::read || answer.what == Answer::What::atomic;
        if (data && !answer.replayed) return before(answer.psn, circle);
    }
    return before(expected_, circle);
}

// RC-15. The MSN does not count an open message yet, so the credits still include the receive
// request that this message uses.
Syndrome RcResponder::ack_syndrome(const QueuePairCore& core) const {
    if (!core.config().credits || core.receives.shared()) return Syndrome::ack(unlimited_credits);
    return Syndrome::ack(credit_code_of(static_cast<std::uint32_t>(core.receives.size())));
}

/// Whether the PSN that a NAK or RNR NAK names arrived before the NAK left (RC-2).
bool RcResponder::is_stale(const Answer& answer) const {
    const auto code = answer.syndrome.nak_code();
    const bool fatal = code && *code != NakCode::sequence_error;
    return answer.what == Answer::What::nak && !fatal && answer.psn != expected_;
}

bool RcResponder::poll_transmit(Instant now, Turn turn, TxFrame& out) {
    while (!answers_.empty() && is_stale(answers_.front())) answers_.pop();
    if (answers_.empty() || (is_ack_alone() && !ack_released_ && acks_.holds(now))) return false;
    Answer& answer = answers_.front();
    switch (answer.what) {
        case Answer::What::read: return send_read(now, turn, out);
        case Answer::What::atomic:
            send_atomic(answer, turn.core, out);
            turn.adapter.owed.settle(answer.owed);
            break;
        case Answer::What::nak: send_nak(answer, turn.core, out); break;
        case Answer::What::ack:
            send_newest_ack(now, turn.core, out);
            turn.adapter.owed.settle(std::exchange(answer.owed, 0));
            ack_released_ = ack_released_ && owes_ack();
            break;
        case Answer::What::duplicate_ack:
            send_ack(answer.psn, ack_syndrome(turn.core), turn.core, out);
            ++turn.core.counters.acks_sent;
            if (--answer.sent > 0) return true;
            break;
    }
    answers_.pop();
    return true;
}

void RcResponder::send_ack(Psn psn, Syndrome syndrome, QueuePairCore& core, TxFrame& out) const {
    Headers headers;
    headers.bth.opcode = opcode_of(Transport::rc, Operation::acknowledge);
    core.address(headers, psn);
    headers.aeth = aeth(syndrome);
    encode(headers, {}, out);
}

void RcResponder::send_newest_ack(Instant now, QueuePairCore& core, TxFrame& out) {
    const Psn newest = newest_to_acknowledge(core.circle());
    send_ack(newest, ack_syndrome(core), core, out);
    acks_.left(now);
    ++core.counters.acks_sent;
    if (newest == before(expected_, core.circle())) data_since_ack_ = false;
}

void RcResponder::send_nak(const Answer& answer, QueuePairCore& core, TxFrame& out) {
    const bool rnr = answer.syndrome.kind() == SyndromeKind::rnr_nak;
    ++(rnr ? core.counters.rnr_naks_sent : core.counters.naks_sent);
    send_ack(answer.psn, answer.syndrome, core, out);
}

void RcResponder::send_atomic(const Answer& answer, QueuePairCore& core, TxFrame& out) const {
    Headers headers;
    headers.bth.opcode = opcode_of(Transport::rc, Operation::atomic_acknowledge);
    core.address(headers, answer.psn);
    headers.aeth = aeth(ack_syndrome(core));
    headers.atomic_ack = {answer.original};
    encode(headers, {}, out);
    ++core.counters.responses_sent;
    if (answer.replayed) out.mark_resent();
}

bool RcResponder::send_read(Instant now, Turn turn, TxFrame& out) {
    Answer& answer = answers_.front();
    const Psn psn = turn.core.circle().advance(answer.psn, answer.sent);
    const PayloadRange range = range_of(answer.from.length, answer.sent, turn.core.path_mtu());
    const Piece piece{answer.from.address + range.offset, range.length, answer.from.rkey};
    const auto bytes = turn.adapter.memory.remote(piece, RemoteRight::read, turn.core.bearer());
    if (!bytes || !turn.adapter.memory.is_there(*bytes)) {
        // The memory is gone, and the Read is only partly answered.
        ++turn.core.counters.reads_broken;
        leave(turn.adapter);
        answers_.clear();
        if (!failed_) {
            fail(NakCode::remote_access, psn, turn);
            return poll_transmit(now, turn, out);
        }
        return false;
    }
    const bool ends = answer.sent + 1 == answer.packets;
    // A repeated tail begins with First or Only, like any Read. Soft-RoCE continues with Middle
    // (RC-32: R3).
    const Operation operation = answer.packets == 1 ? Operation::read_response_only
                                : ends              ? Operation::read_response_last
                                : answer.sent == 0  ? Operation::read_response_first
                                                    : Operation::read_response_middle;
    Headers headers;
    headers.bth.opcode = opcode_of(Transport::rc, operation);
    turn.core.address(headers, psn);
    headers.aeth = aeth(ack_syndrome(turn.core));
    const ConstBytes payload = *bytes;
    encode(headers, std::span(&payload, 1), out);
    ++turn.core.counters.responses_sent;
    if (answer.replayed) out.mark_resent();
    ++answer.sent;
    if (ends) {
        turn.adapter.owed.settle(answer.owed);
        answers_.pop();
    }
    return true;
}

void RcResponder::Answer::fingerprint(Fingerprint& sink) const {
    sink.add(what);
    sink.add(replayed);
    sink.add(psn.value());
    sink.add(syndrome.byte);
    sink.add(packets);
    sink.add(sent);
    from.fingerprint(sink);
    sink.add(original);
    sink.add(owed != 0);
}

void RcResponder::Resource::fingerprint(Fingerprint& sink) const {
    sink.add(verb);
    sink.add(psn.value());
    sink.add(packets);
    from.fingerprint(sink);
    sink.add(original);
}

void RcResponder::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(expected_.value());
    sink.add(completed_.value());
    sink.add(nak_given_);
    sink.add(failed_);
    message_.fingerprint(sink);
    sink.add(answers_.capacity());
    sink.add(answers_.size());
    for (std::size_t i = 0; i < answers_.size(); ++i) answers_[i].fingerprint(sink);
    acks_.fingerprint(now, sink);
    sink.add(ack_released_);
    sink.add(data_since_ack_);
    sink.add(resources_.capacity());
    sink.add(resources_.size());
    for (std::size_t i = 0; i < resources_.size(); ++i) resources_[i].fingerprint(sink);
    sink.add(newest_forgotten_.has_value());
    if (newest_forgotten_) sink.add(newest_forgotten_->value());
}

}  // namespace wireproof::proto::ib
