// The receiving half of an RC queue pair (docs/rules/ib.md, RC responder). It executes every
// request once. All answers leave from one queue, in the order of PSNs. A repeated request is
// answered again.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/ring.hpp"
#include "wireproof/proto/ib/rc/ack_policy.hpp"
#include "wireproof/proto/ib/transport/incoming_message.hpp"

namespace wireproof::proto::ib {

class RcResponder {
public:
    RcResponder() : answers_(0), resources_(0) {}

    void start(const QueuePairCore& core);
    void reset() { *this = {}; }
    /// Sets how many Reads and Atomics are kept from now on. Keeps the newest of those that it has.
    void keep_resources(std::size_t count);
    RxVerdict on_request(Instant now, const Packet& packet, Turn turn);
    RxVerdict on_reserved(const Bth& bth, Turn turn);
    bool poll_transmit(Instant now, Turn turn, TxFrame& out);
    void on_deadline(Instant now) { acks_.on_deadline(now); }
    /// An ACK that is held leaves at the next chance, because the queue pair is about to end.
    void release_acks() { acks_.release(); }
    /// The same for an ACK that a message of this side waits for (RC-38).
    void release_owed_ack() { ack_released_ = owes_ack(); }
    /// No message waits for its answers any more.
    void leave(Adapter& adapter);
    /// A request of this side left.
    void request_left(Instant now) { acks_.request_left(now); }
    /// The program usually answers a message in time, and has not answered this one.
    bool awaits_request(Instant now) const { return acks_.awaits_request(now); }
    /// The deadline of an ACK that is held.
    Instant next_deadline() const { return is_ack_alone() ? acks_.deadline() : never; }
    /// After an error, only the answer that reports the error still leaves.
    void on_error();
    void fingerprint(Instant now, Fingerprint& sink) const;

    Psn expected() const { return expected_; }
    Msn completed() const { return completed_; }

private:
    struct Answer {
        enum class What : std::uint8_t { ack, duplicate_ack, nak, read, atomic };
        What what = What::ack;
        bool replayed = false;
        Psn psn = {};               // of the request; of duplicate_ack: the PSN to name
        Syndrome syndrome = {};     // only for a NAK
        std::uint32_t packets = 1;  // only for a Read
        std::uint32_t sent = 0;     // packets sent; of duplicate_ack: still to leave
        Reth from = {};             // of a Read
        std::uint64_t original = 0;
        OwedAnswers::Number owed = 0;  // messages of this side wait for it; 0: none does
        void fingerprint(Fingerprint& sink) const;
    };
    /// The data with which a Read or an Atomic is answered again.
    struct Resource {
        Verb verb = Verb::read_request;
        Psn psn = {};
        std::uint32_t packets = 1;
        Reth from = {};  // for an Atomic: its address and key
        std::uint64_t original = 0;
        void fingerprint(Fingerprint& sink) const;
    };

    RxVerdict on_expected(Instant now, const Packet& packet, Turn turn);
    RxVerdict on_read(const Packet& packet, Turn turn);
    RxVerdict on_atomic(const Packet& packet, Turn turn);
    RxVerdict on_message(Instant now, const Packet& packet, Turn turn);
    RxVerdict on_duplicate(const Packet& packet, Turn turn);
    RxVerdict on_gap(QueuePairCore& core);
    RxVerdict replay_read(const Packet& packet, Turn turn);
    RxVerdict replay_atomic(const Packet& packet, QueuePairCore& core);
    RxVerdict refuse(Refusal refusal, Turn turn);

    void owe_ack();
    void owe_before_messages(const Packet& packet, Turn turn);
    bool is_ack_alone() const {
        return answers_.size() == 1 && answers_.front().what == Answer::What::ack;
    }
    void owe_duplicate_ack(Psn names);
    Psn newest_before_data(Psn duplicate, const Circle& circle) const;
    void keep(const Resource& resource);
    void forget_oldest();
    void nak(Syndrome syndrome, Psn psn) {
        answers_.push({.what = Answer::What::nak, .psn = psn, .syndrome = syndrome});
    }
    void fail(NakCode code, Psn psn, Turn turn);
    bool room_to_answer(QueuePairCore& core) const;
    Psn newest_to_acknowledge(const Circle& circle) const;
    Aeth aeth(Syndrome syndrome) const { return {syndrome, completed_}; }
    Syndrome ack_syndrome(const QueuePairCore& core) const;
    bool is_stale(const Answer& answer) const;

    void send_ack(Psn psn, Syndrome syndrome, QueuePairCore& core, TxFrame& out) const;
    bool send_read(Instant now, Turn turn, TxFrame& out);
    void send_atomic(const Answer& answer, QueuePairCore& core, TxFrame& out) const;
    void send_newest_ack(Instant now, QueuePairCore& core, TxFrame& out);
    bool owes_ack() const;
    void send_nak(const Answer& answer, QueuePairCore& core, TxFrame& out);

    IncomingMessage message_;
    Psn expected_ = {};
    Msn completed_ = {};           // MSN: completed requests; a Read counts when it begins
    bool nak_given_ = false;       // for the expected PSN; there is no other NAK until it arrives
    bool failed_ = false;          // the last answer is a fatal NAK
    Ring<Answer> answers_;         // oldest first
    AckPolicy acks_;               // for an ACK that is the only answer
    bool ack_released_ = false;    // one of them was posted
    bool data_since_ack_ = false;  // a Read or an Atomic was executed since the last ACK left
    Ring<Resource> resources_;     // a new one replaces the oldest
    std::optional<Psn> newest_forgotten_;  // among the Reads and Atomics that are no longer kept
};

}  // namespace wireproof::proto::ib
