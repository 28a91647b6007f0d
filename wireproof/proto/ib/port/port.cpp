#include "wireproof/proto/ib/port/port.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace wireproof::proto::ib {
namespace {

constexpr std::uint32_t numbers_max = 0xFFFFFF;
// Numbers 0 and 1 are for management, 0xFFFFFF is for multicast.
constexpr std::uint32_t first_chosen = 2;
constexpr std::uint32_t last_chosen = 0xFFFFFE;

std::uint32_t chosen_after(std::uint32_t number) {
    return number == last_chosen ? first_chosen : number + 1;
}

/// Calls `use` with the queue pair in its own type.
template <class QueuePair, class Use>
decltype(auto) with(QueuePair& queue_pair, Use&& use) {
    return std::visit(std::forward<Use>(use), queue_pair);
}

const QueuePairCore& core_of(const auto& queue_pair) {
    return with(queue_pair, [](const auto& pair) -> const QueuePairCore& { return pair.core(); });
}

/// True if the partitions are equal and at least one side is a full member.
bool same_partition(std::uint16_t a, std::uint16_t b) {
    return ((a ^ b) & 0x7FFF) == 0 && ((a | b) & 0x8000) != 0;
}

const char* wrong_with_config(const QueuePairConfig& config) {
    if (config.number > numbers_max) return "a queue pair's number has 24 bits";
    if (config.limits.pieces > SendEntry::pieces_max) return "a work request has 32 pieces at most";
    if (config.uc_behind_max >= config.psn_modulus)
        return "uc_behind_max must be below psn_modulus";
    if (config.ack_every == 0 || config.ack_every > config.in_flight_max) {
        return "ack_every must be 1 to in_flight_max";
    }
    if (config.timeout_factor < 1 || config.timeout_factor > 4) {
        return "an answer timeout lasts 1 to 4 times its nominal length";
    }
    if (config.in_flight_max > config.psn_modulus / 2) {
        return "at most half of all PSNs may be in flight";
    }
    return nullptr;
}

}  // namespace

Port::Port(const PortConfig& config)
    : config_(config),
      adapter_(config.peer_window, config.key_seed),
      next_number_(config.first_number) {
    WIREPROOF_CHECK(next_number_ >= first_chosen && next_number_ <= last_chosen);
}

Expected<std::uint32_t> Port::add_queue_pair(const QueuePairConfig& wanted) {
    if (const char* wrong = wrong_with_config(wanted)) return unexpected(wrong);
    QueuePairConfig config = wanted;
    if (config.number == 0) {
        while (queue_pairs_.contains(next_number_)) next_number_ = chosen_after(next_number_);
        config.number = next_number_;
        next_number_ = chosen_after(next_number_);
    } else if (queue_pairs_.contains(config.number)) {
        return unexpected("queue pair " + std::to_string(config.number) + " exists");
    }
    // Before the queue pair: it must never exist without room for its events.
    adapter_.add_queue_pair(config.number);
    try {
        if (!add(config)) {
            adapter_.remove_queue_pair(config.number);
            return unexpected("no queue pair of transport " +
                              std::string(name_of(config.transport)));
        }
    } catch (...) {  // no memory
        queue_pairs_.erase(config.number);
        adapter_.remove_queue_pair(config.number);
        throw;
    }
    if (config.shared_receives) ++adapter_.shared_receive_queue(*config.shared_receives).users;
    return config.number;
}

bool Port::add(const QueuePairConfig& config) {
    const auto add = [&](auto&& pair) {
        Member& member =
            queue_pairs_.emplace(config.number, Member{std::forward<decltype(pair)>(pair)})
                .first->second;
        const std::size_t slots = slots_.size() + 1;
        ready_.reserve(slots);
        timed_.grow(slots);
        // Doubled, because reserve() allocates exactly as much as it is told.
        if (due_.capacity() < slots) due_.reserve(2 * slots);
        member.slot = slots_.add(config.number);
        return true;
    };
    switch (config.transport) {
        case Transport::uc: return add(UcQueuePair(config));
        case Transport::rc: return add(RcQueuePair(config));
        case Transport::ud: return add(UdQueuePair(config, config_.path_mtu));
        default: return false;
    }
}

bool Port::remove_queue_pair(std::uint32_t number) {
    const auto found = queue_pairs_.find(number);
    if (found == queue_pairs_.end()) return false;
    auto& [pair, slot] = found->second;
    const QueuePairConfig& config = core_of(pair).config();
    adapter_.completion_queue(config.send_completions).drop(number);
    adapter_.completion_queue(config.receive_completions).drop(number);
    if (config.shared_receives) --adapter_.shared_receive_queue(*config.shared_receives).users;
    const QueuePairAttributes known = core_of(pair).attributes();
    with(pair, [this](auto& one) { one.leave(adapter_); });
    ended_ += core_of(pair).counters;
    ready_.remove(slot);
    timed_.clear(slot);
    slots_.remove(slot);
    queue_pairs_.erase(found);
    adapter_.remove_queue_pair(number);
    wake_messages();
    if (known.has_address) wake_others(known.address);
    adapter_.memory.release_windows_of(number);
    return true;
}

void Port::add_used_peers(PeerSet& to) const {
    for (const auto& [number, member] : queue_pairs_) {
        const QueuePairCore& core = core_of(member.pair);
        if (core.attributes().has_address) to.add(core.attributes().address);
        if (!std::holds_alternative<UdQueuePair>(member.pair)) continue;
        for (std::size_t i = 0; i < core.sends.size(); ++i) to.add(core.sends[i].terms.to);
    }
    adapter_.add_senders(to);
}

bool Port::is_used(CompletionQueueId id) const {
    return std::ranges::any_of(queue_pairs_, [id](const auto& one) {
        const QueuePairConfig& config = core_of(one.second.pair).config();
        return config.send_completions == id || config.receive_completions == id;
    });
}

bool Port::remove(CompletionQueueId id) {
    if (is_used(id)) return false;
    adapter_.remove(id);
    return true;
}

bool Port::remove(SharedReceiveQueueId id) {
    if (adapter_.shared_receive_queue(id).users > 0) return false;
    adapter_.remove(id);
    return true;
}

Port::Member* Port::find(std::uint32_t number) {
    const auto found = queue_pairs_.find(number);
    return found == queue_pairs_.end() ? nullptr : &found->second;
}

void Port::note(std::uint32_t number, Member& member) {
    note_asked(number, member);
    make_ready(number, member);
    const QueuePairAttributes& known = core_of(member.pair).attributes();
    if (known.has_address) wake_others(known.address);
    wake_messages();
}

void Port::note_asked(std::uint32_t number, Member& member) {
    const QueuePairCore& core = core_of(member.pair);
    if (core.completion_lost() && core.state() != QueuePairState::error) {
        with(member.pair, [this](auto& pair) { pair.enter_error(adapter_); });
        adapter_.tell(PortEvent::What::completion_lost, number);
    }
    timed_.set(member.slot,
               with(member.pair, [](const auto& pair) { return pair.next_deadline(); }));
}

void Port::make_ready(std::uint32_t number, const Member& member) {
    ready_.put({number, member.slot},
               {.peer = with(member.pair, [](const auto& pair) { return pair.next_peer(); }),
                .datagrams = std::holds_alternative<UdQueuePair>(member.pair)});
}

void Port::make_ready(std::uint32_t number) {
    const Member* const member = find(number);
    if (member != nullptr) make_ready(number, *member);
}

void Port::wake_others(PeerId peer, std::uint32_t last) {
    adapter_.windows.wake(peer, last, [this](std::uint32_t number) { make_ready(number); });
}

void Port::make_messages_ready() {
    adapter_.owed.wake([this](std::uint32_t number) { make_ready(number); });
}

const QueuePairCore* Port::queue_pair(std::uint32_t number) const {
    const auto found = queue_pairs_.find(number);
    return found == queue_pairs_.end() ? nullptr : &core_of(found->second.pair);
}

QueuePairCounters Port::total() const {
    QueuePairCounters sum = ended_;
    for (const auto& [number, member] : queue_pairs_) sum += core_of(member.pair).counters;
    return sum;
}

std::vector<std::uint32_t> Port::numbers() const {
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, member] : queue_pairs_) numbers.push_back(number);
    return numbers;
}

std::optional<Psns> Port::psns(std::uint32_t number) const {
    const auto found = queue_pairs_.find(number);
    if (found == queue_pairs_.end()) return std::nullopt;
    return with(found->second.pair, [](const auto& pair) { return pair.psns(); });
}

void Port::fail_send(std::uint32_t number, std::uint64_t nth, CompletionStatus status) {
    Member* const member = find(number);
    if (member == nullptr) return;
    with(member->pair, [&](auto& pair) { pair.fail_send(nth, status); });
}

void Port::fail_receive(std::uint32_t number, std::uint64_t nth, CompletionStatus status) {
    Member* const member = find(number);
    if (member == nullptr) return;
    with(member->pair, [&](auto& pair) { pair.fail_receive(nth, status); });
}

Unanswered Port::unanswered(std::uint32_t number) const {
    const auto found = queue_pairs_.find(number);
    if (found == queue_pairs_.end()) return {};
    const auto* reliable = std::get_if<RcQueuePair>(&found->second.pair);
    return reliable == nullptr ? Unanswered() : reliable->requester().unanswered();
}

std::uint32_t Port::packets_under_way(Instant now, std::uint32_t number) const {
    const auto found = queue_pairs_.find(number);
    if (found == queue_pairs_.end()) return 0;
    const auto* reliable = std::get_if<RcQueuePair>(&found->second.pair);
    if (reliable == nullptr) return 0;
    const QueuePairCore& core = reliable->core();
    const std::uint32_t packets = adapter_.windows.under_way(core.attributes().address);
    if (!reliable->responder().awaits_request(now)) return packets;
    return packets - std::min(packets, reliable->requester().unasked(core));
}

void Port::release_acks(std::uint32_t number) {
    Member* const found = find(number);
    if (found == nullptr) return;
    with(found->pair, [](auto& pair) {
        if constexpr (requires { pair.release_acks(); }) pair.release_acks();
    });
    note(number, *found);
}

void Port::release_owed_ack(std::uint32_t number) {
    Member* const found = find(number);
    auto* const pair = found == nullptr ? nullptr : std::get_if<RcQueuePair>(&found->pair);
    if (pair == nullptr) return;
    pair->release_owed_ack();
    make_ready(number, *found);
}

ModifyStatus Port::modify(std::uint32_t number, const QueuePairChange& change) {
    Member* const member = find(number);
    if (member == nullptr) return ModifyStatus::no_such_queue_pair;
    const std::uint16_t index = change.partition_index.value_or(0);
    if (index >= config_.partitions.size() || change.path_mtu.value_or(0) > config_.path_mtu) {
        return ModifyStatus::bad_value;
    }
    const QueuePairAttributes before = core_of(member->pair).attributes();
    const ModifyStatus done = with(member->pair, [&](auto& pair) {
        const ModifyStatus status = pair.modify(change, adapter_);
        pair.set_partition(config_.partitions[pair.core().attributes().partition_index]);
        return status;
    });
    note(number, *member);
    if (before.has_address) wake_others(before.address);
    return done;
}

PostStatus Port::post_send(std::uint32_t number, const WorkRequest& request) {
    Member* const member = find(number);
    if (member == nullptr) return PostStatus::wrong_state;
    const PostStatus status =
        with(member->pair, [&](auto& pair) { return pair.post_send(request, adapter_); });
    note(number, *member);
    // RC-38: the message waits for answers, so these no longer wait for anything.
    if (!adapter_.owed.empty() && takes_receive(request.terms.request)) {
        adapter_.owed.for_each_held(core_of(member->pair).attributes().address,
                                    [this](std::uint32_t other) { release_owed_ack(other); });
    }
    return status;
}

PostStatus Port::post_receive(std::uint32_t number, const ReceiveRequest& request) {
    Member* const member = find(number);
    if (member == nullptr) return PostStatus::wrong_state;
    return with(member->pair, [&](auto& pair) { return pair.post_receive(request, adapter_); });
}

RxVerdict Port::on_frame(Instant now, const RxFrame& frame) {
    const RxVerdict verdict = receive(now, frame);
    ++counters_.received[static_cast<std::size_t>(verdict)];
    return verdict;
}

RxVerdict Port::receive(Instant now, const RxFrame& frame) {
    if (frame.integrity == Integrity::damaged) {
        ++counters_.damaged;
        return RxVerdict::corrupt;
    }
    const auto packet = Packet::decode(frame);
    if (packet) return on_packet(now, frame, packet->bth(), &*packet);
    ++counters_.malformed[static_cast<std::size_t>(packet.error())];
    if (packet.error() != Malformed::unknown_opcode) return RxVerdict::malformed;
    return on_packet(now, frame, Bth::decode(frame.bytes.first<Bth::size>()), nullptr);
}

/// `packet` is null if its opcode is reserved: RC answers such a packet.
RxVerdict Port::on_packet(Instant now, const RxFrame& frame, const Bth& bth, const Packet* packet) {
    const auto refuse = [](std::uint64_t& reason, RxVerdict verdict) {
        ++reason;
        return verdict;
    };
    Member* const found = find(bth.dest_qp);
    if (found == nullptr) return refuse(counters_.unknown_queue_pair, RxVerdict::foreign);
    const QueuePairCore& core = core_of(found->pair);
    if (!same_partition(bth.partition, core.partition)) {
        return refuse(counters_.foreign_partition, RxVerdict::foreign);
    }
    // UC-25: the packet does not say which queue pair sent it, so the source address decides.
    const bool connected = !std::holds_alternative<UdQueuePair>(found->pair);
    if (connected && may_receive(core.state()) && frame.from != core.attributes().address) {
        return refuse(counters_.foreign_source, RxVerdict::foreign);
    }
    if (packet != nullptr && packet->opcode->verb == Verb::congestion) {
        with(found->pair, [now](auto& pair) {
            if constexpr (requires { pair.on_notification(now); }) pair.on_notification(now);
        });
        note(bth.dest_qp, *found);
        return refuse(counters_.congestion, RxVerdict::control);
    }
    // UC-6: the opcode belongs to another transport.
    if (transport_of(bth.opcode) != core.config().transport) {
        return refuse(counters_.wrong_transport, RxVerdict::refused);
    }
    const RxVerdict verdict = with(found->pair, [&](auto& pair) {
        if constexpr (std::is_same_v<decltype(pair), UdQueuePair&>) {
            return packet == nullptr ? pair.on_reserved()
                                     : pair.on_packet(*packet, frame.from, adapter_);
        } else {
            if (packet == nullptr) return pair.on_reserved(now, bth, adapter_);
            if (frame.marked) pair.on_marked(now, *packet);
            return pair.on_packet(now, *packet, adapter_);
        }
    });
    note(bth.dest_qp, *found);
    return verdict;
}

bool Port::timeout_is_due(Instant now) const {
    bool due = false;
    timed_.for_each_due(now, [&](std::size_t slot) {
        const auto& member = queue_pairs_.at(slots_.number(static_cast<std::uint32_t>(slot)));
        const auto* const pair = std::get_if<RcQueuePair>(&member.pair);
        due = due || (pair != nullptr && pair->next_timeout() <= now);
    });
    return due;
}

void Port::on_deadline(Instant now) {
    due_.clear();
    timed_.for_each_due(now, [this](std::size_t slot) {
        due_.push_back(slots_.number(static_cast<std::uint32_t>(slot)));
    });
    std::ranges::sort(due_);
    for (const std::uint32_t number : due_) {
        Member& member = *find(number);
        if (auto* pair = std::get_if<RcQueuePair>(&member.pair)) pair->on_deadline(now, adapter_);
        note(number, member);
    }
    due_.clear();  // a copy of the port copies what is there
}

// Asks queue pairs in ascending order, first those after the last sender. Each one that sends
// nothing is not ready any more. It may leave room to one that was asked before and is ready again,
// so the port asks until none is ready.
bool Port::transmit(Instant now, const PeerId* peer, PacketsOf which, TxFrame& out) {
    if (ready_.size() == 0) return false;
    const bool datagrams_only = which == PacketsOf::datagrams;
    std::uint32_t asked = last_turn_;
    for (;;) {
        const auto next = ready_.after(asked, peer, datagrams_only);
        if (!next) {
            if (asked == 0) return false;
            asked = 0;
            continue;
        }
        asked = next->number;
        Member& member = *find(asked);
        const auto to = with(member.pair, [](auto& pair) { return pair.next_peer(); });
        const bool sent =
            with(member.pair, [&](auto& pair) { return pair.poll_transmit(now, out, adapter_); });
        note_asked(asked, member);
        if (sent) {
            make_ready(asked, member);
            last_turn_ = asked;
            wake_messages();
            return true;
        }
        ready_.remove(member.slot);
        wake_messages();
        // It leaves the room that it may have been woken for.
        if (to) wake_others(*to, asked);
    }
}

void Port::fingerprint(Instant now, Fingerprint& sink) const {
    adapter_.fingerprint(sink);
    sink.add(queue_pairs_.size());
    for (const auto& [number, member] : queue_pairs_) {
        sink.add(number);
        with(member.pair, [&](const auto& pair) {
            if constexpr (requires { pair.fingerprint(now, sink, adapter_); }) {
                pair.fingerprint(now, sink, adapter_);
            } else {
                pair.fingerprint(now, sink);
            }
        });
    }
    sink.add(next_number_);
    // With only one queue pair, the last sender does not matter.
    sink.add(queue_pairs_.size() > 1 ? last_turn_ : 0);
}

}  // namespace wireproof::proto::ib
