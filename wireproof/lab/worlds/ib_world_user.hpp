// A user of one queue pair in a random world. It posts work, receives messages, and checks that all
// results are right.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::lab {

struct IbAsk {
    proto::ib::Request request = proto::ib::Request::send;
    std::uint32_t length = 0;  // bytes
    bool signalled = true;
    bool fence = false;
};

/// The settings of a connection in a random world. Both ends know them.
struct IbLine {
    proto::ib::Transport transport = proto::ib::Transport::rc;
    std::uint32_t number = 0;  // of the queue pair, at both ends
    std::size_t path_mtu = 256;
    std::array<std::vector<IbAsk>, 2> asks{};  // by the node that posts them
    std::array<proto::ib::Psn, 2> first_psn{};
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_timer = 1;
    std::uint8_t timeout = 10;
    std::uint8_t rd_atomic = 1;
    bool credits = false;
    std::uint32_t in_flight_max = 32;
    Duration ack_delay = {};
    bool acks_unasked = false;
    bool backs_off = false;
    proto::ib::Congestion congestion = proto::ib::Congestion::off;
};

class IbUser {
public:
    static constexpr std::uint64_t base = 0x100000;
    static constexpr std::size_t asks_max = 16;
    static constexpr std::size_t place_size = 2560;  // the length of the longest message in bytes

    IbUser(const IbLine& line, std::size_t node, proto::ib::Port& port);
    IbUser(const IbUser&) = delete;
    IbUser& operator=(const IbUser&) = delete;
    ~IbUser() = default;

    /// Posts one more request and one more receive, if there are any left.
    void go_on(proto::ib::Port& port);
    bool wants_to_go_on() const { return asked_ < asks().size() || posted_ < receives_wanted_; }
    /// Takes completions from the queue.
    void draw(proto::ib::Port& port);
    bool all_answered(const proto::ib::Port& port) const;
    /// Call these in every turn, before and after packets leave. They check how many packets leave
    /// while one is resent without an answer.
    void note_sent(const proto::ib::Port& port);
    void check_resends(const proto::ib::Port& port);
    /// At the end of the world: checks the results of this user's work at the other.
    void check_end(const IbUser& other, const proto::ib::Port& port);

    const std::string& violation() const { return violation_; }
    std::size_t asked() const { return asked_; }
    std::size_t failed() const { return failed_; }
    std::size_t delivered() const { return delivered_; }
    std::size_t receives_wanted() const { return receives_wanted_; }
    const IbLine& line() const { return *line_; }

private:
    std::uint64_t sent_in_rounds(const proto::ib::Port& port) const;
    const std::vector<IbAsk>& asks() const { return line_->asks[node_]; }
    const std::vector<IbAsk>& others_asks() const { return line_->asks[1 - node_]; }
    std::vector<std::byte> content(std::size_t node, std::size_t ask) const;
    bool holds(std::size_t at, const std::vector<std::byte>& bytes) const;
    std::uint64_t word(std::size_t at) const;
    void on_sent(const proto::ib::Completion& completion);
    void on_received(const proto::ib::Completion& completion);
    void check_well(std::size_t ask);
    bool is_message(std::size_t ask, const proto::ib::Completion& completion) const;
    void fail(const std::string& what);

    const IbLine* line_;
    std::size_t node_;
    std::vector<std::byte> memory_;
    std::uint32_t key_ = 0;
    proto::ib::CompletionQueueId sends_{};
    proto::ib::CompletionQueueId receives_{};
    std::size_t receives_wanted_ = 0;
    std::size_t asked_ = 0;
    std::size_t posted_ = 0;
    std::size_t ended_ = 0;  // requests known to have ended; they end in order
    std::size_t failed_ = 0;
    std::size_t delivered_ = 0;
    std::size_t next_message_ = 0;   // index of the first message of the peer that may still arrive
    std::uint64_t sent_before_ = 0;  // packets sent before this turn
    std::uint64_t sent_unanswered_ = 0;  // packets sent before the oldest one was first resent
    Instant unanswered_since_ = never;
    std::string violation_;
};

}  // namespace wireproof::lab
