// The message that is coming in on one virtual channel. Its memory is taken at construction; a
// message that does not fit in it, or contradicts its own header, is never written.
#pragma once

#include "wireproof/base/crc.hpp"
#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/hippi/config.hpp"

namespace wireproof::hippi {

class IncomingChannel {
public:
    /// What a unit accepted in order did for its message.
    enum class Took : std::uint8_t {
        part,       // more is to come
        message,    // whole now: bytes() has it until the next unit of this channel
        discarded,  // ended, and had been marked as bad before it came to this link
        bad_check,  // ECRC is wrong: it cannot be had again
        nonsense,   // too long, or not what its header said
    };

    explicit IncomingChannel(const Config& config)
        : message_max_(config.message_max),
          check_(config.check_messages),
          memory_((config.message_max + data_size - 1) / data_size * data_size) {}

    Took take(const Control& control, std::span<const std::byte, data_size> data);
    ConstBytes bytes() const { return memory_.bytes().first(whole_); }

    /// Forgets the message under way, not the one delivered last.
    void reset();
    void fingerprint(Fingerprint& sink) const;

private:
    Took take_header(const Control& control, std::span<const std::byte, data_size> data);
    Took take_data(const Control& control, std::span<const std::byte, data_size> data);

    std::size_t message_max_;
    bool check_;
    LazyBytes memory_;
    std::size_t whole_ = 0;  // bytes of the message delivered last

    bool begun_ = false;
    bool has_header_ = false;
    bool marked_bad_ = false;
    std::size_t length_ = 0;  // as its header says
    std::size_t filled_ = 0;  // with what fills its last unit
    Crc16Ccitt ecrc_;
};

}  // namespace wireproof::hippi
