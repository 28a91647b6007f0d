// The collective operations of one rank, as a state machine: messages of other ranks go in,
// messages to other ranks and ended operations come out. The caller carries the messages, and must
// carry those of each sender to each receiver once and in order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/seq_num.hpp"
#include "wireproof/proto/collective/message.hpp"

namespace wireproof::collective {

using Rank = std::uint32_t;
using Ticket = std::uint64_t;  // names an operation of this rank; never used again

struct Config {
    Rank rank = 0;
    Rank ranks = 1;
    std::size_t message_max = 1024;  // with the header; more than Header::size
    /// A message with more bytes leaves only when its receiver has begun the operation. So this is
    /// also the most that a receiver keeps of one message for an operation that it has not begun.
    std::size_t eager_max = 16384;
    /// No rank sends for an operation that lies further than this after one that all have begun.
    std::uint32_t ahead_max = 32;
    /// The number of the first operation, the same at all ranks. The numbers wrap at 2^32.
    std::uint32_t first_sequence = 0xFFFFFFE0;
};

/// All ranks must call the same operations, with the same arguments, in the same order. The memory
/// of an operation is lent until the operation has ended.
///
/// After an operation has failed here, this rank takes no part in this operation and in later
/// ones: they all end with the same Outcome, and this rank tells all others (`broken`). Another
/// rank fails only if it needs a message that does not come any more. Earlier operations continue.
///
/// The type can be copied; the copy uses the same memory of the caller.
class Operations {
public:
    enum class Post : std::uint8_t { accepted, full, no_address };
    /// Sends a message to a rank. The bytes are valid during the call. full: try again later.
    using Poster = std::function<Post(Rank to, ConstBytes message)>;
    struct Ended {
        Ticket ticket;
        Outcome outcome;
    };

    explicit Operations(const Config& config);

    Ticket barrier();
    /// `root` must be a rank.
    Ticket broadcast(Bytes memory, Rank root);
    /// memory.size() must be a multiple of size_of(element).
    Ticket all_reduce(Bytes memory, Element element, Reduction reduction);
    /// Both have the same size, a multiple of the number of ranks.
    Ticket all_to_all(ConstBytes source, Bytes destination);

    /// A message has arrived.
    void on_message(Rank from, ConstBytes message);
    /// No more messages come from this rank, and it gets none any more.
    void on_lost(Rank rank, Outcome why);
    /// Sends what is due, as far as `post` accepts it. `post` must not call this object.
    void send(const Poster& post);
    /// The operations that have ended, in this order. Call it until there is nothing.
    std::optional<Ended> next_ended();
    /// Ends all operations. No more messages leave.
    void end_all(Outcome why);

    const Config& config() const { return config_; }
    /// Operations that have not ended.
    bool busy() const { return !operations_.empty(); }
    /// Messages wait for the next send(), or for their receiver to be ready.
    bool has_sends() const { return !outs_.empty(); }
    /// Bytes kept for operations that have not begun here.
    std::size_t kept_bytes() const;

private:
    struct SequenceTag {};
    using Sequence = SeqNum<SequenceTag>;

    struct Operation {
        Ticket ticket = 0;
        Sequence sequence;
        Signature what;
        Bytes memory;
        ConstBytes source;     // of an all-to-all
        bool hidden = false;   // a barrier that the caller did not ask for
        bool begun = false;    // may send
        bool entered = false;  // has posted the messages of its step
        std::uint32_t step = 0;
        std::size_t outs = 0;       // its messages that have not left
        std::size_t missing = 0;    // blocks of an all-to-all
        std::vector<bool> arrived;  // the ranks of these blocks that are here
    };
    /// A message to another rank.
    struct Out {
        Rank to = 0;
        Header header;
        ConstBytes bytes;
        std::size_t sent = 0;
        bool announced = false;  // its first part has left
        bool ready = false;      // the receiver waits for the bytes
    };
    /// A message from another rank. There is at most one for each operation and sender.
    struct In {
        Rank from = 0;
        Sequence sequence;
        bool ready = false;  // the rank waits for this rank's bytes
        bool begun = false;  // its first part has arrived
        Signature what;
        std::vector<std::byte> bytes;
        bool whole() const { return begun && bytes.size() == what.total; }
    };
    struct Gone {
        Sequence from;  // takes no part in this operation and in later ones
        Outcome why;
    };
    struct Member {
        bool met = false;  // a message has come from it or has left to it
        std::optional<Outcome> lost;
        std::optional<Gone> broken;
    };
    /// What an operation can do next. Nothing: it waits.
    using Step = std::optional<Outcome>;

    bool at_or_after(Sequence later, Sequence earlier) const;
    std::optional<Outcome> gone(Rank rank, Sequence sequence) const;
    bool is_long(const Signature& what) const { return what.total > config_.eager_max; }
    Operation* find(Sequence sequence);
    In* find_in(Rank from, Sequence sequence);
    In& in_of(Rank from, Sequence sequence);

    Ticket start(Operation operation);
    void add(Operation operation);
    void violate(Rank from) { on_lost(from, Outcome::mismatched); }
    void on_broken(Rank from, const Header& header);
    void on_ready(Rank from, Sequence sequence);
    bool take_data(Rank from, const Header& header, ConstBytes bytes);
    bool take_more(Rank from, const Header& header, ConstBytes bytes);

    void advance_all();
    Step advance(Operation& operation);
    Step advance_barrier(Operation& operation);
    Step advance_broadcast(Operation& operation);
    Step advance_all_reduce(Operation& operation);
    Step advance_exchange(Operation& operation);
    Step advance_all_to_all(Operation& operation);
    Step end_if_sent(const Operation& operation) const;
    Step wait_for(const Operation& operation, Rank from) const {
        return gone(from, operation.sequence);
    }
    void post(Operation& operation, Rank to, ConstBytes bytes);
    void expect(const Operation& operation, Rank from);
    In* arrived(const Operation& operation, Rank from);
    void combine_with(const Operation& operation, In& in);
    void drop(In& in);
    void forget(In& in);

    void complete(std::size_t index);
    void fail(Sequence sequence, Outcome why);
    bool push(Out& out, const Poster& poster);
    bool push_parts(Out& out, const Poster& poster);

    Config config_;
    Circle circle_{std::uint64_t{1} << 32};
    Sequence next_;          // of the next operation
    Sequence begun_by_all_;  // all ranks have begun this one, as far as this rank knows
    Ticket next_ticket_ = 1;
    std::uint32_t broadcasts_ = 0;  // since the last operation of another kind
    std::vector<Operation> operations_;
    std::vector<Out> outs_;
    std::vector<In> ins_;
    std::vector<Member> members_;
    std::vector<Ended> ended_;
    std::vector<Rank> full_;  // during a send()
    std::vector<std::byte> message_;
    std::vector<std::vector<std::byte>> spare_;  // memory for the bytes of an In
    std::optional<Gone> broken_;                 // this rank
};

}  // namespace wireproof::collective
