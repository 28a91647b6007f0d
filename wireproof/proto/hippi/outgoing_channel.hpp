// The waiting messages of one virtual channel, and how they are cut into units. If the length is a
// multiple of 32 bytes, a message is only data units. Otherwise a header unit with the length comes
// first.
#pragma once

#include "wireproof/base/crc.hpp"
#include "wireproof/core/message_queue.hpp"
#include "wireproof/proto/hippi/config.hpp"
#include "wireproof/proto/hippi/retransmit_buffer.hpp"

namespace wireproof::hippi {

class OutgoingChannel {
public:
    OutgoingChannel(const Config& config, std::uint8_t channel);

    bool empty() const { return messages_.empty(); }
    bool full() const { return messages_.full(); }
    void push(ConstBytes message) { messages_.push(message); }

    /// The next unit of the oldest message, without number and credits.
    Unit next_unit();

    void reset();
    void fingerprint(Fingerprint& sink) const;

private:
    void begin_message();

    std::uint8_t channel_;
    bool lent_;
    bool check_;
    MessageQueue<> messages_;

    bool header_sent_ = false;  // for the oldest message
    std::size_t cut_ = 0;       // bytes of it that are in units
    Crc16Ccitt ecrc_;
};

}  // namespace wireproof::hippi
