// One end of a transfer over queue pairs: a port with two queue pairs to one peer. Short control
// messages always use a reliable connection; pieces of data use a reliable or an unreliable one.
// Both ends compute queue pair numbers and first PSNs from the seed, so they exchange nothing.
//
// The peer timeout ends a session, not a limit of retries: no frame arrived for this time, or a
// packet was resent for this time without an answer.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/host/any_wire.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::app {

class IbSession {
public:
    static constexpr std::size_t control_max = 256;  // bytes: fits one packet of any path MTU
    static constexpr std::size_t slots = 32;         // pieces in flight, or posted receives

    struct Config {
        proto::ib::Transport data = proto::ib::Transport::rc;
        std::uint16_t node = 0;  // 0 or 1; the peer has the other number
        std::size_t path_mtu = 1024;
        std::size_t piece_max = 0;  // bytes
        std::uint64_t seed = 0;
        Duration peer_timeout = Duration::milliseconds(10'000);
        // In bytes, for the text of a failure: the headers around an InfiniBand packet on the path,
        // and the longest packet of the path.
        std::size_t framing = 0;
        std::size_t mtu = 0;
    };

    IbSession(host::AnyWire wire, const Config& config);

    /// Queues a message of at most control_max bytes. It arrives once and in order.
    void send_control(ConstBytes message);
    /// True if no control message waits for its acknowledgement.
    bool control_idle() const { return waiting_.empty() && line(Line::control).posted.empty(); }
    /// The number of control messages that were acknowledged so far.
    std::uint64_t control_acknowledged() const { return line(Line::control).completed; }
    /// The number of control messages that were queued so far.
    std::uint64_t control_queued() const { return queued_; }

    /// A slot for a piece; empty while all slots are in flight.
    std::optional<std::size_t> free_slot() const;
    Bytes slot(std::size_t number);
    /// Sends the first `length` bytes of a free slot.
    void send_piece(std::size_t slot, std::size_t length, std::uint32_t immediate);
    /// Pieces that were acknowledged or, on an unreliable connection, have left.
    std::uint64_t pieces_completed() const { return line(Line::data).completed; }

    /// The bytes are valid only during the call.
    void on_control(std::function<void(ConstBytes)> handler) { on_control_ = std::move(handler); }
    void on_piece(std::function<void(ConstBytes, std::uint32_t immediate)> handler) {
        on_piece_ = std::move(handler);
    }

    /// Receives and sends what it can; returns the number of frames and completions.
    std::size_t poll(Instant now);
    Instant next_deadline() const;
    host::AnyWire& wire() { return wire_; }

    /// Why the session has ended, in one line; empty while it works.
    const std::string& failure() const { return failure_; }
    bool connected() const { return heard_ != never; }
    Duration peer_timeout() const { return config_.peer_timeout; }
    const proto::ib::QueuePairCounters& control_counters() const;
    const proto::ib::QueuePairCounters& data_counters() const;
    std::uint64_t keepalives() const { return keepalives_; }

private:
    enum class Line : std::uint8_t { control, data };
    struct Posted {
        std::vector<std::byte> control = {};
        std::size_t slot = 0;
        std::size_t length = 0;
        std::uint32_t immediate = 0;
    };
    struct Connection {
        std::uint32_t number = 0;  // of the queue pair; the same at both ends
        std::deque<Posted> posted = {};
        std::uint64_t completed = 0;  // messages sent by this end
    };

    Connection& line(Line line) { return lines_[static_cast<std::size_t>(line)]; }
    const Connection& line(Line line) const { return lines_[static_cast<std::size_t>(line)]; }
    proto::ib::Transport transport_of(Line line) const {
        return line == Line::control ? proto::ib::Transport::rc : config_.data;
    }
    proto::ib::Psn first_psn(Line line, std::uint16_t node) const;

    void open(Line line);
    void connect(Line line);
    void post(Line line, const Posted& message);
    void post_receive(Line line, std::size_t buffer);
    void post_waiting();
    std::size_t draw_completions();
    void on_sent(const proto::ib::Completion& completion);
    void on_received(const proto::ib::Completion& completion);
    void watch(Instant now);
    std::size_t transmit_all(Instant now);

    Config config_;
    host::AnyWire wire_;
    PeerId peer_;
    proto::ib::Port port_;
    std::array<Connection, 2> lines_;
    proto::ib::CompletionQueueId sent_{};
    proto::ib::CompletionQueueId received_{};
    std::vector<std::byte> control_memory_;
    std::vector<std::byte> data_memory_;
    std::vector<bool> busy_;  // slots in flight
    std::uint32_t control_key_ = 0;
    std::uint32_t data_key_ = 0;
    std::deque<std::vector<std::byte>> waiting_;  // control messages that wait for room
    std::uint64_t queued_ = 0;
    std::uint64_t keepalives_ = 0;
    std::function<void(ConstBytes)> on_control_;
    std::function<void(ConstBytes, std::uint32_t)> on_piece_;
    Instant began_ = never;
    Instant polled_;
    bool completed_ = false;  // something sent has completed since completions were taken
    Instant heard_ = never;
    Instant spoke_ = never;
    std::string failure_;
};

}  // namespace wireproof::app
