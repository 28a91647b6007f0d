// One end of a measurement of queue pairs: a port with one queue pair on a wire, and memory for
// sending and receiving. It checks every completion: a failed completion, or a message out of order
// or of another length, is a Failure.
//
// Messages are numbered. A Send and a numbered Write carry the number as immediate data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/app/perf/perf_ib_wires.hpp"
#include "wireproof/app/perf/perf_message_order.hpp"
#include "wireproof/base/bytes.hpp"
#include "wireproof/host/spin_clock.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::app {

class PerfIbEnd {
public:
    /// Near the end of 32 bits, so that the numbers wrap in each run.
    static constexpr std::uint32_t first_number = 0xFFFF'FFF0;
    static constexpr std::size_t in_flight_max = 4096;
    static constexpr std::size_t rd_atomic = 16;  // Reads and Atomics in flight
    static constexpr Duration peer_timeout = Duration::milliseconds(30'000);

    struct Config {
        proto::ib::Transport transport = proto::ib::Transport::rc;
        std::uint16_t node = 0;
        std::size_t path_mtu = 4096;
        bool over_udp = false;
        proto::ib::Congestion congestion = proto::ib::Congestion::off;
        std::uint64_t seed = 0;
    };

    /// Source and destination are borrowed and must outlive the end. Each has room for the longest
    /// message, and for the results of in_flight_max Atomics.
    PerfIbEnd(PerfIbWire wire, const Config& config, Bytes source, Bytes destination);

    // Operations of `size` bytes. They return false if the send queue is full.
    bool send(std::uint32_t number, std::size_t size);
    bool write(std::size_t size);
    bool write_numbered(std::uint32_t number, std::size_t size);
    bool read(std::size_t size);
    /// Adds 1 to the first eight bytes of the destination at the other end.
    bool fetch_add();

    /// From now on, messages must have this length. Messages with an earlier number belong to an
    /// earlier measurement and do not count. Resets the count of additions.
    void expect(std::uint32_t number, std::size_t size) {
        order_.expect(number, size);
        added_ = 0;
    }

    /// Receives and sends what it can; returns how much it did.
    std::size_t turn();
    /// Sends what was posted.
    void transmit();
    /// Throws Failure if a packet was resent for peer_timeout without an answer.
    void look();

    Bytes source() const { return source_; }
    Bytes destination() const { return destination_; }
    proto::ib::Transport transport() const { return config_.transport; }
    /// Completed operations of this end, and received messages.
    std::uint64_t completed() const { return completed_; }
    std::uint64_t received() const { return order_.received(); }
    std::uint32_t last_number() const { return order_.next() - 1; }
    /// Completed fetch-and-adds. Each returned the number of those before it.
    std::uint64_t added() const { return added_; }
    std::uint64_t resent() const { return counters().resent; }
    /// Frames that arrived.
    std::uint64_t heard() const { return heard_; }
    /// The time of the last turn.
    Instant now() const { return now_; }

private:
    bool post(const proto::ib::WorkTerms& terms, std::size_t offset, std::size_t length);
    void open();
    void post_receive();
    std::size_t draw();
    void on_done(const proto::ib::Completion& completion);
    void on_message(const proto::ib::Completion& completion);
    void heed_events();
    const proto::ib::QueuePairCounters& counters() const;

    Config config_;
    PerfIbWire wire_;
    proto::ib::Port port_;
    host::SpinClock clock_;
    Instant now_;
    Bytes source_;
    Bytes destination_;
    std::uint32_t source_key_ = 0;  // the other end has the same keys
    std::uint32_t destination_key_ = 0;
    proto::ib::CompletionQueueId sent_{};
    proto::ib::CompletionQueueId came_{};
    std::uint32_t number_ = 0;  // of the queue pair, the same at both ends
    std::uint64_t heard_ = 0;
    std::uint64_t completed_ = 0;
    MessageOrder order_;
    std::uint64_t adds_posted_ = 0;
    std::uint64_t added_ = 0;
};

}  // namespace wireproof::app
