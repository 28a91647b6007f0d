// What the driver does and what it costs, and the adapter's receive side. Packets wait at the
// switch's port to this node until the adapter looks at them. The model decides as late as possible
// in which order they come off the link, because the clock of a sender may still be behind.
#include "wireproof/sim/sp2/adapter.hpp"

#include <algorithm>

#include "wireproof/base/check.hpp"
#include "wireproof/sim/compose.hpp"

namespace wireproof::sp2 {

TxFrame* AdapterLane::claim() {
    const Bytes room = adapter_->claim(this);
    if (room.empty()) return nullptr;
    frame_.open(room, capabilities());
    return &frame_;
}

void AdapterLane::commit() {
    adapter_->commit(this, peer_, frame_);
}

Adapter::Adapter(const Config& config, std::uint16_t node, Host& host, sim::Network& fabric,
                 OnTheWay& on_the_way)
    : config_(config),
      node_(node),
      host_(&host),
      fabric_(&fabric),
      on_the_way_(&on_the_way),
      send_fifo_(config),
      receive_fifo_(config.receive_entries(), entry_size),
      known_free_(config.send_entries) {
    for (std::uint16_t peer = 0; peer < config.nodes; ++peer) lanes_.emplace_back(this, peer);
}

AdapterLane& Adapter::lane(PeerId peer) {
    const auto index = static_cast<std::size_t>(peer);
    WIREPROOF_CHECK(index < lanes_.size() && index != node_);
    return lanes_[index];
}

Bytes Adapter::claim(const AdapterLane* lane) {
    if (known_free_ == 0 && !find_free_entries()) {
        refused_ = true;
        return {};
    }
    claimed_by_ = lane;
    return send_fifo_.entry(send_fifo_.next());
}

void Adapter::commit(const AdapterLane* lane, std::uint16_t peer, const TxFrame& frame) {
    WIREPROOF_CHECK(claimed_by_ == lane);
    claimed_by_ = nullptr;
    const std::size_t index = send_fifo_.next();
    sim::compose(frame, send_fifo_.entry(index));
    host_->spend(config_.costs.compose(frame.size()));
    send_fifo_.compose(frame.size(), peer, frame.resent());
    --known_free_;
    const bool ends_word = (index + 1) % config_.lengths_per_access == 0;
    if (ends_word || index + 1 == send_fifo_.entries()) store_lengths();
}

// All lengths that wait are in one word of the length array.
void Adapter::store_lengths() {
    if (send_fifo_.composed() == 0) return;
    host_->spend(config_.costs.bus_access);
    ++counts_.length_stores;
    while (send_fifo_.composed() > 0) {
        const SendFifo::Departure packet = send_fifo_.store_length(host_->now());
        ++counts_.sent;
        const Duration detour = config_.route_delays[config_.route_of(packet.bytes) % routes];
        fabric_->cable(node_, packet.to)
            .send(packet.leaves, packet.bytes, {.detour = detour, .resent = packet.resent});
        put_on_the_way(packet.to);
    }
}

void Adapter::put_on_the_way(std::uint16_t to) {
    if (fabric_->cable(node_, to).front() == nullptr) return;  // lost
    auto& senders = (*on_the_way_)[to];
    const auto place = std::lower_bound(senders.begin(), senders.end(), node_);
    if (place == senders.end() || *place != node_) senders.insert(place, node_);
}

// The adapter takes entries in order. So if the slot half a ring ahead is zero, all entries before
// it are free, and one access is enough. Only a host that has filled most of the FIFO must look at
// the next slots.
bool Adapter::find_free_entries() {
    const std::size_t entries = send_fifo_.entries();
    const std::size_t stored = entries - send_fifo_.composed();
    const auto zero = [&](std::size_t ahead) {
        return send_fifo_.length_slot((send_fifo_.next() + ahead) % entries, host_->now()) == 0;
    };
    const std::size_t half = entries / 2;
    if (half > 0 && half <= stored) {
        host_->spend(config_.costs.bus_access);
        ++counts_.length_reads;
        if (zero(half - 1)) {
            known_free_ = half;
            return true;
        }
    }
    host_->spend(config_.costs.bus_access);
    ++counts_.length_reads;
    const std::size_t word = config_.lengths_per_access;
    const std::size_t seen = std::min(stored, word - send_fifo_.next() % word);
    while (known_free_ < seen && zero(known_free_)) ++known_free_;
    return known_free_ > 0;
}

void Adapter::flush(Instant now) {
    host_->wait_until(now);
    store_lengths();
    wake_at_ = refused_ ? send_fifo_.next_free() : never;
    refused_ = false;
}

std::optional<RxFrame> Adapter::receive(Instant now) {
    host_->wait_until(now);
    if (receive_fifo_.unreturned() >= config_.lazy_pop) {
        host_->spend(config_.costs.bus_access);
        ++counts_.pops;
        absorb(host_->now());
        receive_fifo_.return_read();
    }
    absorb(host_->now());
    if (receive_fifo_.next_visible() > host_->now()) {
        host_->spend(config_.costs.poll_empty);
        ++counts_.empty_polls;
        return std::nullopt;
    }
    const ReceiveFifo::Packet packet = receive_fifo_.read();
    host_->spend(config_.costs.read(packet.bytes.size()));
    ++counts_.received;
    return RxFrame{packet.bytes, PeerId{packet.from}, Integrity::intact};
}

// Runs the receive side up to `now`: the adapter stores each packet that has come off the link, or
// loses it if no entry is free.
void Adapter::absorb(Instant now) {
    while (sim::Cable* cable = next_cable()) {
        if (cable->next_arrival() > now) return;
        const Landing packet = landing(*cable);
        if (packet.begins > now) return;
        const RxFrame frame = take(*cable);
        port_free_ = packet.off_link;
        if (frame.integrity == Integrity::damaged) {
            ++counts_.crc_drops;
            continue;
        }
        adapter_free_ = packet.begins + config_.costs.receive_occupancy;
        if (receive_fifo_.full()) {
            ++counts_.overflows;
            continue;
        }
        receive_fifo_.deposit(frame.bytes, static_cast<std::uint16_t>(frame.from), packet.visible);
    }
}

RxFrame Adapter::take(sim::Cable& cable) {
    const auto frame = cable.take(cable.next_arrival());
    WIREPROOF_CHECK(frame.has_value());
    if (cable.front() == nullptr) {
        auto& senders = (*on_the_way_)[node_];
        const auto from = static_cast<std::uint16_t>(frame->from);
        senders.erase(std::lower_bound(senders.begin(), senders.end(), from));
    }
    return *frame;
}

// The cable whose head reaches this node's port first; the lower node's if several arrive together.
sim::Cable* Adapter::next_cable() const {
    sim::Cable* first = nullptr;
    for (const std::size_t from : (*on_the_way_)[node_]) {
        sim::Cable& cable = fabric_->cable(from, node_);
        if (first == nullptr || cable.next_arrival() < first->next_arrival()) first = &cable;
    }
    return first;
}

Adapter::Landing Adapter::landing(const sim::Cable& cable) const {
    const sim::Flight::Frame& head = *cable.front();
    Landing packet;
    // The head goes through the switch while the tail is still leaving its sender.
    packet.off_link = std::max(head.arrival, port_free_) + config_.costs.on_link(head.size);
    packet.begins = std::max(packet.off_link, adapter_free_);
    packet.visible = packet.begins + config_.costs.receive_latency;
    return packet;
}

Instant Adapter::next_deadline() const {
    if (receive_fifo_.unread() > 0) return std::min(wake_at_, receive_fifo_.next_visible());
    const sim::Cable* cable = next_cable();
    return cable == nullptr ? wake_at_ : std::min(wake_at_, landing(*cable).visible);
}

}  // namespace wireproof::sp2
