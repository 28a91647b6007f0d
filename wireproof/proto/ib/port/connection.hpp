// How a queue pair gets from RESET to RTS: takes the values on which both sides agreed, and makes
// the steps that queue_pair_state allows.
#pragma once

#include <cstdint>

#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::proto::ib {

/// One side's view of a connection.
struct Connection {
    PeerId peer = {};
    std::size_t path_mtu = 1024;        // bytes
    std::uint32_t dest_queue_pair = 0;  // 24 bits
    Psn receive_psn = {};               // PSN of the peer's first packet
    Psn send_psn = {};                  // PSN of our first packet

    // Only for RC. The codes are those of the specification.
    std::uint8_t max_dest_rd_atomic = 1;  // Reads and Atomics of the peer to keep
    std::uint8_t max_rd_atomic = 1;       // our Reads and Atomics that may be outstanding
    std::uint8_t min_rnr_timer = 12;      // 0.64 ms
    std::uint8_t timeout = 14;            // 67 ms
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = 7;  // 7: no limit
    Congestion congestion = Congestion::off;
};

/// `peer` limits what packets of the peer may do, in addition to their keys.
inline QueuePairChange to_init(const Access& peer) {
    return {.state = QueuePairState::init, .partition_index = 0, .port = 1, .access = peer};
}

/// From INIT. The queue pair then receives.
inline QueuePairChange to_rtr(Transport transport, const Connection& connection) {
    QueuePairChange change{.state = QueuePairState::rtr,
                           .address = connection.peer,
                           .path_mtu = connection.path_mtu,
                           .dest_queue_pair = connection.dest_queue_pair,
                           .receive_psn = connection.receive_psn};
    if (transport == Transport::rc) {
        change.max_dest_rd_atomic = connection.max_dest_rd_atomic;
        change.min_rnr_timer = connection.min_rnr_timer;
    }
    return change;
}

/// From RTR. The queue pair then also sends.
inline QueuePairChange to_rts(Transport transport, const Connection& connection) {
    QueuePairChange change{.state = QueuePairState::rts, .send_psn = connection.send_psn};
    if (transport == Transport::rc) {
        change.max_rd_atomic = connection.max_rd_atomic;
        change.timeout = connection.timeout;
        change.retry_count = connection.retry_count;
        change.rnr_retry = connection.rnr_retry;
        change.congestion = connection.congestion;
    }
    return change;
}

/// From INIT to RTS. If a step is refused, the queue pair stays in INIT or RTR.
inline ModifyStatus connect(Port& port, std::uint32_t number, const Connection& connection) {
    const QueuePairCore* core = port.queue_pair(number);
    if (core == nullptr) return ModifyStatus::no_such_queue_pair;
    const Transport transport = core->config().transport;
    const ModifyStatus receives = port.modify(number, to_rtr(transport, connection));
    if (receives != ModifyStatus::done) return receives;
    return port.modify(number, to_rts(transport, connection));
}

}  // namespace wireproof::proto::ib
