// The Send or Write that a responder is receiving. UC and RC check and execute its packets alike;
// they differ in what they do about a packet that is refused.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/proto/ib/packet.hpp"
#include "wireproof/proto/ib/queue_pair_core.hpp"

namespace wireproof::proto::ib {

/// Why a packet in sequence was not executed, in the order in which it is asked.
enum class Refusal : std::uint8_t {
    not_allowed,     // the operation, on this queue pair
    not_ready,       // no receive request
    bad_length,      // of payload, pad or RETH
    too_long,        // a Send, for its receive request
    bad_key,         // the peer's, or not for these bytes
    receive_faulty,  // memory of the receive request cannot be written
};

class IncomingMessage {
public:
    bool open() const { return verb_.has_value(); }
    /// Whether a packet of this opcode may come next.
    bool continued_by(const Opcode& opcode) const {
        return opcode.begins() ? !open() : verb_ == opcode.verb;
    }
    /// Nothing of a packet that is refused was executed, unless the receive request is faulty; what
    /// was open stays so, and a receive request that was looked at waits for the next message.
    std::optional<Refusal> execute(const Packet& packet, QueuePairCore& core, Adapter& adapter);
    /// The message will not be completed: its receive request goes back where it can. Bytes that
    /// were written stay.
    void abandon(QueuePairCore& core, Adapter& adapter);
    /// The same at a reset or in error, when all receive requests are flushed anyway.
    void forget() { verb_.reset(); }

    void fingerprint(Fingerprint& sink) const;

private:
    std::optional<Refusal> execute_send(const Packet& packet, QueuePairCore& core,
                                        Adapter& adapter);
    std::optional<Refusal> execute_write(const Packet& packet, QueuePairCore& core,
                                         Adapter& adapter);
    std::optional<Refusal> check_write(const Packet& packet, const QueuePairCore& core,
                                       const Adapter& adapter) const;
    void complete(const Packet& packet, const ReceiveEntry& entry, std::uint64_t length,
                  QueuePairCore& core, Adapter& adapter);

    std::optional<Verb> verb_;   // of what is open: send or write
    std::uint64_t arrived_ = 0;  // bytes
    Reth target_;                // of a Write
};

/// The receive request that the message uses completes in error: with `status`, unless it is told
/// to fail with another.
void fail_receive(QueuePairCore& core, Adapter& adapter, CompletionStatus status);

/// Counts a refused packet under its reason.
void count(Refusal refusal, QueuePairCounters& counters);

}  // namespace wireproof::proto::ib
