#include "wireproof/proto/ib/transport/queue_pair_state.hpp"

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

using enum Attribute;
using State = QueuePairState;

struct Row {
    State from;
    State to;
    StateStep uc;
    StateStep rc;
    StateStep ud;
};

constexpr AttributeSet paths{alternate_path, migration_state};

// UC-24. Steps without attributes are not in this table.
constexpr std::array rows = {
    Row{State::reset,
        State::init,
        {{partition_index, port, access}, {}},
        {{partition_index, port, access}, {}},
        {{partition_index, port, qkey}, {}}},
    Row{State::init,
        State::init,
        {{}, {partition_index, port, access}},
        {{}, {partition_index, port, access}},
        {{}, {partition_index, port, qkey}}},
    Row{State::init,
        State::rtr,
        {{address, path_mtu, dest_queue_pair, receive_psn},
         {alternate_path, access, partition_index}},
        {{address, path_mtu, dest_queue_pair, receive_psn, max_dest_rd_atomic, min_rnr_timer},
         {alternate_path, access, partition_index}},
        {{}, {partition_index, qkey}}},
    Row{State::rtr,
        State::rts,
        {{send_psn}, {current_state, alternate_path, access, migration_state}},
        {{send_psn, timeout, retry_count, rnr_retry, max_rd_atomic},
         {current_state, alternate_path, access, min_rnr_timer, migration_state}},
        {{send_psn}, {current_state, qkey}}},
    Row{State::rts,
        State::rts,
        {{}, AttributeSet{current_state, access} | paths},
        {{}, AttributeSet{current_state, access, min_rnr_timer} | paths},
        {{}, {current_state, qkey}}},
    Row{State::rts,
        State::sqd,
        {{}, {drained_notify}},
        {{}, {drained_notify}},
        {{}, {drained_notify}}},
    Row{State::sqd,
        State::rts,
        {{}, AttributeSet{current_state, access} | paths},
        {{}, AttributeSet{current_state, access, min_rnr_timer} | paths},
        {{}, {current_state, qkey}}},
    Row{State::sqd,
        State::sqd,
        {{}, AttributeSet{address, access, partition_index} | paths},
        {{},
         AttributeSet{port, address, timeout, retry_count, rnr_retry, max_rd_atomic,
                      max_dest_rd_atomic, access, partition_index, min_rnr_timer} |
             paths},
        {{}, {partition_index, qkey}}},
    Row{State::sqe,
        State::rts,
        {{}, {current_state, access}},
        {{}, {}},
        {{}, {current_state, qkey}}},
};

bool fits(const std::optional<std::uint8_t>& value, unsigned largest) {
    return !value || *value <= largest;
}

}  // namespace

std::optional<StateStep> state_step(Transport transport, QueuePairState from, QueuePairState to) {
    if (to == State::reset) return StateStep{};
    if (to == State::error && from != State::reset) return StateStep{};
    for (const Row& row : rows) {
        if (row.from != from || row.to != to) continue;
        if (transport == Transport::rc) return row.rc;
        return transport == Transport::uc ? row.uc : row.ud;
    }
    return std::nullopt;
}

AttributeSet QueuePairChange::given() const {
    AttributeSet set;
    const auto add_if = [&set](bool is_given, Attribute attribute) {
        if (is_given) set.add(attribute);
    };
    add_if(current_state.has_value(), Attribute::current_state);
    add_if(partition_index.has_value(), Attribute::partition_index);
    add_if(port.has_value(), Attribute::port);
    add_if(access.has_value(), Attribute::access);
    add_if(qkey.has_value(), Attribute::qkey);
    add_if(address.has_value(), Attribute::address);
    add_if(path_mtu.has_value(), Attribute::path_mtu);
    add_if(dest_queue_pair.has_value(), Attribute::dest_queue_pair);
    add_if(receive_psn.has_value(), Attribute::receive_psn);
    add_if(send_psn.has_value(), Attribute::send_psn);
    add_if(max_dest_rd_atomic.has_value(), Attribute::max_dest_rd_atomic);
    add_if(max_rd_atomic.has_value(), Attribute::max_rd_atomic);
    add_if(min_rnr_timer.has_value(), Attribute::min_rnr_timer);
    add_if(timeout.has_value(), Attribute::timeout);
    add_if(retry_count.has_value(), Attribute::retry_count);
    add_if(rnr_retry.has_value(), Attribute::rnr_retry);
    add_if(alternate_path, Attribute::alternate_path);
    add_if(migration_state, Attribute::migration_state);
    add_if(drained_notify.has_value(), Attribute::drained_notify);
    return set;
}

void QueuePairAttributes::apply(const QueuePairChange& change) {
    const auto take = [](auto& to, const auto& from) {
        if (from) to = *from;
    };
    take(partition_index, change.partition_index);
    take(port, change.port);
    take(access, change.access);
    take(qkey, change.qkey);
    take(address, change.address);
    has_address = has_address || change.address.has_value();
    take(path_mtu, change.path_mtu);
    take(dest_queue_pair, change.dest_queue_pair);
    take(receive_psn, change.receive_psn);
    take(send_psn, change.send_psn);
    take(max_dest_rd_atomic, change.max_dest_rd_atomic);
    take(max_rd_atomic, change.max_rd_atomic);
    take(min_rnr_timer, change.min_rnr_timer);
    take(timeout, change.timeout);
    take(retry_count, change.retry_count);
    take(rnr_retry, change.rnr_retry);
    take(congestion, change.congestion);
}

/// Leaves out receive_psn and send_psn: they are used once, at a step that must give them.
void QueuePairAttributes::fingerprint(Fingerprint& sink) const {
    sink.add(partition_index);
    sink.add(port);
    access.fingerprint(sink);
    sink.add(qkey);
    sink.add(has_address);
    sink.add(address);
    sink.add(path_mtu);
    sink.add(dest_queue_pair);
    sink.add(max_dest_rd_atomic);
    sink.add(max_rd_atomic);
    sink.add(min_rnr_timer);
    sink.add(timeout);
    sink.add(retry_count);
    sink.add(rnr_retry);
    if (congestion != Congestion::off) sink.add(congestion);
}

ModifyStatus check_change(Transport transport, QueuePairState state, const QueuePairChange& change,
                          const Circle& circle) {
    const QueuePairState from = change.current_state.value_or(state);
    if (from != state) return ModifyStatus::bad_value;
    const auto step = state_step(transport, from, change.state.value_or(state));
    if (!step) return ModifyStatus::no_such_step;
    const AttributeSet given = change.given();
    // UC-24: all required attributes must be given, and only required or optional ones.
    if (!step->required.within(given)) return ModifyStatus::attribute_missing;
    if (!given.within(step->required | step->optional)) return ModifyStatus::attribute_not_allowed;
    const auto on_circle = [&circle](const std::optional<Psn>& psn) {
        return !psn || circle.holds(psn->value());
    };
    const bool good = (!change.path_mtu || is_path_mtu(*change.path_mtu)) &&
                      change.dest_queue_pair.value_or(0) <= 0xFFFFFF &&
                      on_circle(change.receive_psn) && on_circle(change.send_psn) &&
                      fits(change.min_rnr_timer, 31) && fits(change.timeout, 31) &&
                      fits(change.retry_count, 7) && fits(change.rnr_retry, 7);
    return good ? ModifyStatus::done : ModifyStatus::bad_value;
}

}  // namespace wireproof::proto::ib
