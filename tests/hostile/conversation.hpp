// One side of a connection that asks for this and that, without end, and looks at every completion:
// each must be of what was asked here, once, in the order of asking. What the other side makes of
// it, it does not mind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/connection.hpp"

namespace wireproof::cli {

class Conversation {
public:
    struct Config {
        proto::ib::Transport transport = proto::ib::Transport::rc;
        std::uint32_t domain = 0;
        proto::ib::Piece own = {};     // sent from and received into
        proto::ib::Piece remote = {};  // of the other side's
        std::uint64_t seed = 0;
    };
    static constexpr std::uint32_t longest = 3000;  // message, bytes

    /// `port` outlives this.
    Conversation(proto::ib::Port& port, const Config& config);

    std::uint32_t number() const { return number_; }
    void set_remote(const proto::ib::Piece& remote) { config_.remote = remote; }

    /// From whatever state. What was asked before and has not completed is forgotten.
    void connect(const proto::ib::Connection& connection);
    /// It takes a connect to go on.
    bool failed() const;
    /// Asks for one thing more, and for one receive, which may be too few.
    void go_on();
    void draw();

    std::uint64_t completed() const { return completed_; }
    /// In one line; empty: all completions were as they should be.
    const std::string& violation() const { return violation_; }

private:
    static constexpr std::size_t asked_max = 16;

    /// What was asked of a queue: ids from `oldest` to before `next` have not completed.
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

}  // namespace wireproof::cli
