// The incoming message of one virtual channel. Its memory is allocated at construction. A message
// that does not fit, or that contradicts its own header, is not written.
#pragma once

#include "wireproof/base/crc.hpp"
#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/hippi/config.hpp"

namespace wireproof::hippi {

class IncomingChannel {
public:
    /// The state of the message after a unit was accepted in order.
    enum class Took : std::uint8_t {
        part,       // more units follow
        message,    // complete: bytes() has it until the channel's next unit
        discarded,  // ended; it was marked as bad before it came to this link
        bad_check,  // the ECRC is wrong; the message cannot be resent
        nonsense,   // too long, or it contradicts its header
    };

    explicit IncomingChannel(const Config& config)
        : message_max_(config.message_max),
          check_(config.check_messages),
          memory_((config.message_max + data_size - 1) / data_size * data_size) {}

    Took take(const Control& control, std::span<const std::byte, data_size> data);
    ConstBytes bytes() const { return memory_.bytes().first(whole_); }

    /// Drops the incomplete message, but not the one that was delivered last.
    void reset();
    void fingerprint(Fingerprint& sink) const;

private:
    Took take_header(const Control& control, std::span<const std::byte, data_size> data);
    Took take_data(const Control& control, std::span<const std::byte, data_size> data);

    std::size_t message_max_;
    bool check_;
    LazyBytes memory_;
    std::size_t whole_ = 0;  // length of the message that was delivered last

    bool begun_ = false;
    bool has_header_ = false;
    bool marked_bad_ = false;
    std::size_t length_ = 0;  // as its header says
    std::size_t filled_ = 0;  // with the padding of its last unit
    Crc16Ccitt ecrc_;
};

}  // namespace wireproof::hippi
