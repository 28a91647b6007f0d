// The Send or Write that a responder is receiving. UC and RC check and execute its packets in the
// same way. They differ in what they do after a packet is refused.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

namespace wireproof::proto::ib {

/// Why a packet in sequence was not executed. The reasons are checked in about this order.
enum class Refusal : std::uint8_t {
    not_allowed,     // this queue pair does not allow the operation
    not_ready,       // no receive request
    bad_length,      // wrong length of payload, pad or RETH
    too_long,        // a Send is longer than its receive request
    bad_key,         // the key of the peer is invalid, or not valid for these bytes
    receive_faulty,  // memory of the receive request cannot be written
};

class IncomingMessage {
public:
    bool open() const { return verb_.has_value(); }
    /// Whether a packet with this opcode may come next.
    bool continued_by(const Opcode& opcode) const {
        return opcode.begins() ? !open() : verb_ == opcode.verb;
    }
    /// Executes one packet. A refused packet has no effect, except that memory may be partly
    /// written if it is gone or the receive request is faulty. An open message stays open. If the
    /// packet used a new receive request, the next message takes that request.
    std::optional<Refusal> execute(const Packet& packet, Turn turn);
    /// The message will not complete. Its receive request goes back to the queue if that is
    /// possible. Bytes that were written stay.
    void abandon(Turn turn);
    /// For a reset or an error, where all receive requests are flushed.
    void forget() { verb_.reset(); }

    void fingerprint(Fingerprint& sink) const;

private:
    std::optional<Refusal> execute_send(const Packet& packet, Turn turn);
    std::optional<Refusal> execute_write(const Packet& packet, Turn turn);
    std::optional<Refusal> check_write(const Packet& packet, ConstTurn turn) const;
    void complete(const Packet& packet, const ReceiveEntry& entry, std::uint64_t length, Turn turn);

    std::optional<Verb> verb_;   // of the open message: send or write
    std::uint64_t arrived_ = 0;  // bytes
    Reth target_;                // only for a Write
};

/// Completes the receive request of the message with `status`. If a planned failure gives another
/// status, that one is used.
void fail_receive(Turn turn, CompletionStatus status);

void count(Refusal refusal, QueuePairCounters& counters);

}  // namespace wireproof::proto::ib
