// One side of a connection. It posts random work without end and checks each completion: work
// completes once and in the order in which this side posted it. It does not check what the other
// side does with the work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::hostile {

class Conversation {
public:
    struct Config {
        proto::ib::Transport transport = proto::ib::Transport::rc;
        std::uint32_t domain = 0;
        proto::ib::Piece own = {};     // memory for sends and receives
        proto::ib::Piece remote = {};  // memory of the other side
        std::uint64_t seed = 0;
    };
    static constexpr std::uint32_t longest = 3000;  // bytes of a message

    /// The caller owns `port`; it must outlive the conversation.
    Conversation(proto::ib::Port& port, const Config& config);

    std::uint32_t number() const { return number_; }
    void set_remote(const proto::ib::Piece& remote) { config_.remote = remote; }

    /// Connects the queue pair, in any state. Work that has not completed is forgotten.
    void connect(const proto::ib::Connection& connection);
    /// True if the queue pair is in an error state. Then only connect() helps.
    bool failed() const;
    /// Posts one more request and one more receive. The peer may need more receives than that.
    void go_on();
    void draw();

    std::uint64_t completed() const { return completed_; }
    /// Describes in one line the first wrong completion; empty: there is none.
    const std::string& violation() const { return violation_; }

private:
    static constexpr std::size_t asked_max = 16;

    /// The work in a queue: ids from `oldest` to before `next` have not completed.
    struct Ledger {
        std::uint64_t next = 0;
        std::uint64_t oldest = 0;
    };
    proto::ib::Piece own_piece(std::uint32_t length);
    void on_completion(const proto::ib::Completion& completion, Ledger& ledger, const char* what);

    proto::ib::Port* port_;
    Config config_;
    Random dice_;
    proto::ib::CompletionQueueId sent_{};
    proto::ib::CompletionQueueId received_{};
    std::uint32_t number_ = 0;
    Ledger sends_;
    Ledger receives_;
    std::uint64_t completed_ = 0;
    std::string violation_;
};

}  // namespace wireproof::hostile
