// All operations of one node on another in a simulated world, and an exact check of their results.
//
// The expected order of deliveries comes from the wire: packets leave for the first time in the
// order of their numbers, so the first departure of a message shows its place among all messages of
// its channel. Everything else follows from the calls.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/lab/worlds/am_flow_memory.hpp"
#include "wireproof/lab/worlds/am_world_plan.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::lab {

/// One operation, and the answer of its handler.
struct AmOperation {
    enum class What : std::uint8_t { request, store, get };
    enum class Answer : std::uint8_t { none, reply, refuse };

    What what = What::request;
    Answer answer = Answer::none;
    std::uint64_t number = 0;  // in the flow: the tag, and the key of the content
    std::size_t length = 0;    // of a request
    std::size_t answer_length = 0;
    std::uint64_t bytes = 0;   // for a transfer
    std::uint64_t offset = 0;  // for a get: place in the shelf
    std::uint32_t slot = 0;    // for a transfer
    // The reason with which a transfer to memory without permission, or a store to a missing
    // handler, ends.
    am::Reason refusal = am::Reason::none;

    static constexpr std::uint64_t handlers = 1000;  // numbered from 1
    static constexpr am::HandlerId missing_handler{9999};

    bool is_refused() const { return refusal != am::Reason::none; }
    am::HandlerId handler() const {
        if (refusal == am::Reason::no_handler) return missing_handler;
        return static_cast<am::HandlerId>(1 + number % handlers);
    }
    am::HandlerId answer_handler() const { return static_cast<am::HandlerId>(5000 + number % 7); }
    std::uint32_t argument() const { return static_cast<std::uint32_t>(number * 77); }
};

class AmFlow {
public:
    AmFlow(const AmTrafficPlan& plan, const am::Config& config, std::uint64_t seed);

    /// The handlers of every node, for stores.
    static am::HandlerTable handlers();
    /// Gives the asking node access to the target's memory.
    void register_memory(am::MemoryTable& target) { memory_.register_at(target); }

    // At the asking node.
    /// Posts as many operations as possible. True: there are more, and there is room.
    bool post(am::Connection& connection);
    void on_reply(const am::Reply& reply);
    void on_refused(const am::Refused& refused);
    void on_store_ended(const am::StoreEnded& ended);
    void on_get_ended(const am::GetEnded& ended);

    // At the target.
    void on_request(const am::Request& request, am::Connection& answering);
    void on_stored(const am::Stored& stored, am::Connection& answering);

    // Call at the first departure of a numbered packet: from the asking node on the request
    // channel, from the target on the reply channel.
    void on_asking(const am::Header& header);
    void on_answering(const am::Header& header, ConstBytes data);

    /// The first error; empty if none.
    const std::string& violation() const { return violation_; }
    /// The first operation that is open or wrong at the end of the world; empty if none.
    std::string unfinished() const;

    std::uint64_t operations() const { return next_number_; }
    std::uint64_t answers() const { return answers_; }

private:
    /// The numbers on the wire: each message starts where the span of the one before it ends (AM-3,
    /// AM-33).
    struct Numbering {
        std::uint32_t next = 0;
        std::uint32_t packets_left = 0;  // of the chunk that is leaving
    };

    std::optional<AmOperation> draw();
    void shape_transfer(AmOperation& operation);
    am::PostStatus post(const AmOperation& operation, am::Connection& connection);
    void answer(const AmOperation& operation, am::Connection& connection);
    void check_number(am::Channel channel, const am::Header& header);
    /// The bytes of a store that travel in its OPEN.
    std::uint64_t opening_bytes(const AmOperation& transfer) const;
    bool is_last_chunk(const am::Header& header, const AmOperation& transfer) const;
    AmOperation take(std::deque<AmOperation>& queue, const char* what);
    AmOperation take_transfer(std::uint64_t tag, AmOperation::What what);
    std::uint64_t key(const AmOperation& operation, std::uint64_t part) const;
    void expect(bool condition, const char* sentence, std::uint64_t number);

    AmTrafficPlan plan_;
    am::Config config_;
    std::uint64_t seed_;
    Random random_;
    AmFlowMemory memory_;
    std::int64_t packets_left_;
    std::uint64_t next_number_ = 0;
    std::uint64_t answers_ = 0;
    std::vector<std::optional<AmOperation>> threads_;  // the next operation of each thread

    std::deque<AmOperation> posted_;    // accepted, but not on the wire yet
    std::deque<AmOperation> answered_;  // by the target, but not on the wire yet
    std::deque<AmOperation> due_at_target_;
    std::deque<AmOperation> due_answers_;             // replies, refusals and ends of gets
    std::map<std::uint32_t, AmOperation> stores_;     // by transfer id, since the OPEN left
    std::map<std::uint32_t, AmOperation> gets_;       // by transfer id, since the GET_REQ left
    std::map<std::uint64_t, AmOperation> transfers_;  // by tag, since they were posted
    std::array<Numbering, am::channel_count> numbering_;
    std::string violation_;
};

}  // namespace wireproof::lab
