// A connection between two devices. The test knows its messages. Each message must arrive whole and
// in order, whatever other hosts send to the devices. UC may lose messages.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/front/ib/device.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::hostile {

class HonestPair {
public:
    static constexpr std::uint32_t domain = 77;

    /// The caller owns `a` and `b`; they must outlive the pair.
    HonestPair(ib::Device::Inside& a, ib::Device::Inside& b, proto::ib::Transport transport,
               std::uint64_t seed);

    /// Both ends take completions and post receives. With `more` they also post new messages.
    void work(bool more);
    bool idle() const;

    /// The memory of an end: messages to send, messages received, and messages written by the peer.
    proto::ib::Piece memory(std::size_t end) const {
        return ends_[end].slot(0, 0, 3 * slots * message_max);
    }
    std::uint32_t number(std::size_t end) const { return ends_[end].number; }
    std::uint64_t delivered() const { return delivered_; }
    std::uint64_t lost() const { return lost_; }
    const std::string& violation() const { return violation_; }

private:
    static constexpr std::uint32_t message_max = 2500;  // bytes
    static constexpr std::size_t under_way = 4;
    static constexpr std::size_t slots = 2 * under_way;  // for messages, in each area of an end

    struct End {
        ib::Device::Inside* device = nullptr;
        std::uint32_t number = 0;
        proto::ib::CompletionQueueId sends{};
        proto::ib::CompletionQueueId receives{};
        std::vector<std::byte> memory = std::vector<std::byte>(3 * slots * message_max);
        std::uint32_t key = 0;
        std::uint32_t sent = 0;       // messages
        std::uint32_t completed = 0;  // messages that were sent and have completed
        std::uint32_t posted = 0;     // receives
        std::uint32_t received = 0;
        std::uint32_t expected = 0;  // number of the next message

        proto::ib::Piece slot(std::size_t area, std::uint32_t number, std::uint32_t length) const;
        Bytes bytes(const proto::ib::Piece& piece);
    };

    void open(End& end, ib::Device::Inside& device);
    void post(std::size_t end);
    void draw(std::size_t end);
    void on_received(std::size_t end, const proto::ib::Completion& completion);
    void fail(std::string what) {
        if (violation_.empty()) violation_ = std::move(what);
    }
    std::vector<std::byte> message(std::size_t end, std::uint32_t number) const;

    proto::ib::Transport transport_;
    std::uint64_t seed_;
    std::array<End, 2> ends_;
    std::uint64_t delivered_ = 0;
    std::uint64_t lost_ = 0;
    std::string violation_;
};

}  // namespace wireproof::hostile
