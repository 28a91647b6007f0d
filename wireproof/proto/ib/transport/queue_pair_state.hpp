// The states of a queue pair, and the attributes that each step between two states must have and
// may have, as a table like that of the specification (volume 1, section 11.2.4.2).
//
//   RESET ──► INIT ──► RTR ──► RTS ◄──► SQD        any ──► RESET;  any but RESET ──► ERR
//                               ▲
//                               └── SQE ◄── an error of the send queue (UC, UD)
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "wireproof/core/congestion/kind.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/proto/ib/packet/opcode.hpp"
#include "wireproof/proto/ib/packet/psn.hpp"
#include "wireproof/proto/ib/transport/memory_table.hpp"

namespace wireproof::proto::ib {

enum class QueuePairState : std::uint8_t { reset, init, rtr, rts, sqd, sqe, error };

inline constexpr std::array<std::string_view, 7> queue_pair_state_names = {
    "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

constexpr std::string_view name_of(QueuePairState state) {
    return queue_pair_state_names[static_cast<std::size_t>(state)];
}

constexpr bool may_receive(QueuePairState state) {
    return state >= QueuePairState::rtr && state != QueuePairState::error;
}
/// May send packets of requests that have begun. Only RTS begins new requests.
constexpr bool may_send(QueuePairState state) {
    return state == QueuePairState::rts || state == QueuePairState::sqd;
}

enum class Attribute : std::uint32_t {
    current_state = 1 << 0,
    partition_index = 1 << 1,
    port = 1 << 2,
    access = 1 << 3,
    qkey = 1 << 4,
    address = 1 << 5,  // of the peer
    path_mtu = 1 << 6,
    dest_queue_pair = 1 << 7,
    receive_psn = 1 << 8,
    send_psn = 1 << 9,
    max_dest_rd_atomic = 1 << 10,
    max_rd_atomic = 1 << 11,
    min_rnr_timer = 1 << 12,
    timeout = 1 << 13,
    retry_count = 1 << 14,
    rnr_retry = 1 << 15,
    alternate_path = 1 << 16,
    migration_state = 1 << 17,
    drained_notify = 1 << 18,
};

class AttributeSet {
public:
    constexpr AttributeSet() = default;
    constexpr AttributeSet(std::initializer_list<Attribute> attributes) {
        for (const Attribute attribute : attributes) add(attribute);
    }
    constexpr void add(Attribute attribute) { bits_ |= static_cast<std::uint32_t>(attribute); }
    constexpr bool has(Attribute attribute) const {
        return (bits_ & static_cast<std::uint32_t>(attribute)) != 0;
    }
    constexpr bool within(AttributeSet other) const { return (bits_ & ~other.bits_) == 0; }
    friend constexpr AttributeSet operator|(AttributeSet a, AttributeSet b) {
        a.bits_ |= b.bits_;
        return a;
    }
    friend constexpr bool operator==(AttributeSet, AttributeSet) = default;

private:
    std::uint32_t bits_ = 0;
};

struct StateStep {
    AttributeSet required;
    AttributeSet optional;
};

/// Empty if there is no such step.
std::optional<StateStep> state_step(Transport transport, QueuePairState from, QueuePairState to);

/// The congestion control of an RC requester. Not an attribute of the specification.
using Congestion = congestion::Kind;

/// The attributes that a caller of modify() gives.
struct QueuePairChange {
    std::optional<QueuePairState> state = {};
    std::optional<QueuePairState> current_state = {};
    std::optional<std::uint16_t> partition_index = {};
    std::optional<std::uint8_t> port = {};
    std::optional<Access> access = {};  // rights of the peer
    std::optional<std::uint32_t> qkey = {};
    std::optional<PeerId> address = {};
    std::optional<std::size_t> path_mtu = {};  // bytes
    std::optional<std::uint32_t> dest_queue_pair = {};
    std::optional<Psn> receive_psn = {};
    std::optional<Psn> send_psn = {};
    std::optional<std::uint8_t> max_dest_rd_atomic = {};  // Reads and Atomics kept
    std::optional<std::uint8_t> max_rd_atomic = {};       // our own, outstanding
    std::optional<std::uint8_t> min_rnr_timer = {};       // a timer code, 0 … 31
    std::optional<std::uint8_t> timeout = {};      // 4.096 us x 2^timeout, 1 … 31; 0: no timeout
    std::optional<std::uint8_t> retry_count = {};  // 0 … 7
    std::optional<std::uint8_t> rnr_retry = {};    // 0 … 6; 7: no limit
    bool alternate_path = false;                   // given; has no effect here
    bool migration_state = false;                  // given
    std::optional<bool> drained_notify = {};
    /// Any change may have it. It takes effect with the step to RTS.
    std::optional<Congestion> congestion = {};

    AttributeSet given() const;
};

/// The attributes that a queue pair has now.
struct QueuePairAttributes {
    std::uint16_t partition_index = 0;
    std::uint8_t port = 1;
    Access access = {};
    std::uint32_t qkey = 0;
    PeerId address = {};
    bool has_address = false;
    std::size_t path_mtu = 1024;
    std::uint32_t dest_queue_pair = 0;
    Psn receive_psn = {};
    Psn send_psn = {};
    std::uint8_t max_dest_rd_atomic = 0;
    std::uint8_t max_rd_atomic = 0;
    std::uint8_t min_rnr_timer = 0;
    std::uint8_t timeout = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;
    Congestion congestion = Congestion::off;

    /// The caller has refused values that do not fit into their fields.
    void apply(const QueuePairChange& change);
    void fingerprint(Fingerprint& sink) const;
};

enum class ModifyStatus : std::uint8_t {
    done,
    no_such_step,
    attribute_missing,
    attribute_not_allowed,
    bad_value,
    no_such_queue_pair,
};

/// Whether a queue pair in this state allows the change. Does not check resources.
ModifyStatus check_change(Transport transport, QueuePairState state, const QueuePairChange& change,
                          const Circle& circle);

}  // namespace wireproof::proto::ib
