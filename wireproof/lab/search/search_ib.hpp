// An end of a UC or RC connection for the search: the product's port with one queue pair, the calls
// of its user, and the memory that the peer writes and reads. A posts calls; B has receives and
// memory.
//
// A value: each copy gives its port its own memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/search/search_pair.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::lab {

struct IbCall {
    proto::ib::Request request = proto::ib::Request::send;
    std::uint32_t length = 0;  // bytes, up to IbTask::length_max; more than 256 need two packets
    std::uint8_t key = 0;      // index of one of the two keys of B's memory
};

struct IbTask {
    static constexpr std::size_t calls_max = 6;
    static constexpr std::uint32_t length_max = 300;

    proto::ib::Transport transport = proto::ib::Transport::rc;
    std::vector<IbCall> calls = {};  // of A, in this order
    std::uint8_t retry_count = 7;
    std::uint8_t timeout = 1;  // a code; 0: no timeout
    std::uint8_t max_rd_atomic = 2;
    /// Reads and Atomics that B remembers to answer them again; nothing: max_rd_atomic.
    std::optional<std::uint8_t> resources = {};
    /// Of PSNs and MSNs. If frames may be late or repeated, it must be far larger than the number
    /// of packets.
    std::uint32_t modulus = 64;
    bool credits = false;
    Duration ack_delay = {};
    bool acks_unasked = false;
    bool uc_drop_behind = true;
    /// More may go wrong than retries can repair: calls may end in error, all after a certain one.
    bool may_fail = false;
    /// UC: no frame is lost or overtaken, so everything arrives.
    bool all_arrive = false;
};

/// The changes that a variant of an end makes to its frames. Each function may change the frame. If
/// it returns false, the frame is lost.
struct IbTampering {
    using Change = std::function<bool(std::vector<std::byte>& frame)>;
    Change leaving = {};
    Change arriving = {};
};

/// For A: a requester that completes Reads and Atomics as Linux's Soft-RoCE does. If the response
/// was lost and an acknowledgement names the PSN of the Read or Atomic, it completes without data.
/// If the acknowledgement names a later PSN, the requester retries, as the product's engine does.
IbTampering completes_from_acks(const IbTask& task);
/// For B: a responder whose acknowledgements name the newest request that it has executed, even if
/// that is a Read or an Atomic.
IbTampering acknowledges_newest(const IbTask& task);
/// For A: a requester that asks for no acknowledgement.
IbTampering asks_for_nothing();

class IbEnd {
public:
    using Frame = std::vector<std::byte>;
    using Variants = std::array<IbTampering, 2>;

    static std::array<IbEnd, 2> both(const IbTask& task, Variants variants = {});

    IbEnd(const IbEnd& other);
    IbEnd(IbEnd&& other) noexcept = default;
    IbEnd& operator=(IbEnd other) noexcept;
    ~IbEnd() = default;

    void offer_all();
    /// True if a call of A or a receive of B can be posted.
    bool can_offer() const;
    void offer();
    std::optional<Frame> transmit();
    RxVerdict receive(Frame frame, Arrives how);
    Instant deadline() const { return port_.next_deadline(); }
    Instant now() const { return now_; }
    void wait();
    bool done() const;
    std::uint64_t replays() const;
    const char* violation() const { return violation_; }
    static const char* contradiction(const IbEnd& a, const IbEnd& b);
    static bool agree(const IbEnd& a, const IbEnd& b);
    Fingerprint::Value fingerprint() const;
    FrameInfo describe(ConstBytes frame) const { return proto::ib::describe(frame); }
    static std::string news(const IbEnd& before, const IbEnd& after);

    const proto::ib::QueuePairCounters& counters() const {
        return port_.queue_pair(number)->counters;
    }

private:
    static constexpr std::uint32_t number = 0x10;
    using Memory = std::vector<std::byte>;

    struct Shared {
        IbTask task;
        Variants variants;
    };

    IbEnd(std::shared_ptr<const Shared> shared, std::size_t side);

    void connect();
    void draw();
    void on_completion(const proto::ib::Completion& completion);
    void on_received(const proto::ib::Completion& completion);
    void check_result(std::size_t call);
    bool holds(std::size_t at, const Memory& bytes) const;
    std::uint64_t word(std::size_t at) const;
    bool is_executed(std::size_t call) const;
    std::size_t receives_wanted() const;
    void fail(const char* sentence) {
        if (violation_ == nullptr) violation_ = sentence;
    }

    const IbTask& task() const { return shared_->task; }

    std::shared_ptr<const Shared> shared_;
    std::size_t side_;
    Memory memory_;
    proto::ib::Port port_;
    proto::ib::CompletionQueueId completions_{};
    std::array<std::uint32_t, 2> keys_{};  // both keys cover the whole memory
    Instant now_;

    std::size_t offered_ = 0;    // posted calls, or posted receives
    std::size_t completed_ = 0;  // calls, successful or not
    std::size_t failed_ = 0;     // of the completed calls
    std::size_t delivered_ = 0;  // receives completed
    std::uint8_t arrived_ = 0;   // calls that a receive delivered, one bit each
    const char* violation_ = nullptr;
};

class IbSearch : public PairSearch<IbEnd> {
public:
    IbSearch(const IbTask& task, const SearchSetting& setting, IbEnd::Variants variants = {})
        : PairSearch<IbEnd>(setting, IbEnd::both(task, std::move(variants))) {}
};

extern template class PairSearch<IbEnd>;

}  // namespace wireproof::lab
