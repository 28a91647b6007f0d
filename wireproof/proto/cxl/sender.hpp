// The retry buffer (LLRB) with WrPtr, RdPtr and NumFreeBuf, and the messages that wait for it. No
// flit carries its number: both ends count.
//
//   acknowledged ──► oldest … RdPtr (resent next) … WrPtr (the next new flit)      all modulo depth
#pragma once

#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/base/seq_num.hpp"
#include "wireproof/core/link_engine.hpp"
#include "wireproof/proto/cxl/config.hpp"
#include "wireproof/proto/cxl/wire_format.hpp"

namespace wireproof::cxl {

using FlitNumber = SeqNum<struct FlitTag>;

class Sender {
public:
    explicit Sender(const Config& config);
    void reset();

    bool has_room() const { return !waiting_.full(); }
    bool has_message() const { return !waiting_.empty(); }
    /// Copies the message. It has at most message_room bytes.
    SubmitStatus submit(ConstBytes message);

    /// Whether a new retryable flit may leave. `acknowledges`: it carries acknowledgements.
    bool may_store(bool acknowledges) const;
    /// Stores the oldest message that waits, or a control flit, as the flit with number WrPtr. The
    /// result is valid until the next call.
    FlitData store_message(bool acknowledges);
    FlitData store(const FlitBytes& control);

    /// The peer acknowledges the oldest `count` flits. False: the peer cannot have so
    /// many, and nothing changes.
    [[nodiscard]] bool on_acks(std::uint32_t count);

    /// Whether the peer can expect this number.
    bool can_replay_from(std::uint32_t eseq) const;
    void replay_from(std::uint32_t eseq) { burst_ = rd_ptr_ = FlitNumber(eseq); }
    void stop_replay() { rd_ptr_ = wr_ptr_; }
    bool replaying() const { return rd_ptr_ != wr_ptr_; }
    /// Flits of the replay that have left since it began or since the last call of begin_burst(),
    /// and that are not acknowledged.
    std::uint32_t burst() const;
    void begin_burst() { burst_ = rd_ptr_; }
    bool at_oldest() const { return replaying() && rd_ptr_ == oldest_; }
    /// The flit at RdPtr, as it first left (CXL-11).
    FlitData resend();

    std::uint32_t wr_ptr() const { return wr_ptr_.value(); }
    std::uint32_t rd_ptr() const { return rd_ptr_.value(); }
    std::uint32_t num_free_buf() const { return depth_ - used_; }
    std::uint32_t outstanding() const { return used_; }
    /// Flits outstanding that are not LLCRDs.
    std::uint32_t news_outstanding() const { return news_; }
    std::size_t waiting() const { return waiting_.size(); }

    void fingerprint(Fingerprint& sink) const;

private:
    struct Message {
        std::uint8_t length = 0;
        std::array<std::byte, message_room> bytes{};
    };

    std::uint32_t depth_;
    std::uint32_t first_number_;
    bool keeps_an_entry_;
    Circle circle_;
    Ring<Message> waiting_;
    std::vector<FlitBytes> flits_;  // the index is the number
    FlitNumber oldest_;
    FlitNumber wr_ptr_;
    FlitNumber rd_ptr_;
    FlitNumber burst_;
    std::uint32_t used_ = 0;
    std::uint32_t news_ = 0;
};

}  // namespace wireproof::cxl
