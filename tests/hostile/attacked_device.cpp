#include "tests/hostile/attacked_device.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace wireproof::hostile {
namespace {

constexpr std::size_t areas_and_gaps = 2 * 4 + 1;

}  // namespace

AttackedDevice::AttackedDevice(ib::Device::Inside& device, std::uint64_t seed)
    : device_(&device), memory_(areas_and_gaps * area_size) {
    Random dice(seed);
    for (std::byte& byte : memory_.bytes()) byte = static_cast<std::byte>(dice.next());
    original_.assign(memory_.bytes().begin(), memory_.bytes().end());
    const auto add = [this](Area area, std::uint32_t owner, const proto::ib::Access& access) {
        const auto key = device_->port.memory().add_region({.domain = owner,
                                                            .address = place(area).address,
                                                            .memory = bytes(area),
                                                            .access = access});
        keys_[static_cast<std::size_t>(area)] = key.value();
    };
    const proto::ib::Access everything{.local_write = true,
                                       .remote_write = true,
                                       .remote_read = true,
                                       .remote_atomic = true,
                                       .window_bind = true};
    add(Area::open, domain, everything);
    add(Area::readable, domain, {.local_write = true, .remote_read = true});
    add(Area::local, domain, {.local_write = true});
    add(Area::foreign, foreign_domain, everything);
}

Conversation& AttackedDevice::add_conversation(proto::ib::Transport transport, std::uint64_t seed) {
    Conversation& one = conversations_.emplace_back(
        device_->port, Conversation::Config{
                           .transport = transport, .domain = domain, .own = open(), .seed = seed});
    queue_pairs_.push_back(one.number());
    return one;
}

Bytes AttackedDevice::bytes(Area area) const {
    return memory_.bytes().subspan((2 * static_cast<std::size_t>(area) + 1) * area_size, area_size);
}

proto::ib::Piece AttackedDevice::place(Area area) const {
    return {reinterpret_cast<std::uintptr_t>(bytes(area).data()), area_size,
            keys_[static_cast<std::size_t>(area)]};
}

void AttackedDevice::add_aims(HostileAims& aims) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Area::count); ++i) {
        aims.regions.push_back(place(static_cast<Area>(i)));
    }
    aims.queue_pairs = queue_pairs_;
}

std::string AttackedDevice::check_memory() const {
    const Bytes all = memory_.bytes();
    const Bytes open = bytes(Area::open);
    const auto begin = static_cast<std::size_t>(open.data() - all.data());
    const auto same = [&](std::size_t from, std::size_t to) {
        const auto now = all.subspan(from, to - from);
        return std::equal(now.begin(), now.end(),
                          original_.begin() + static_cast<std::ptrdiff_t>(from));
    };
    const std::size_t end = begin + open.size();
    if (same(0, begin) && same(end, all.size())) return "";
    std::size_t first = 0;
    while ((first >= begin && first < end) || all[first] == original_[first]) ++first;
    return fmt::format("byte {} of the attacked memory changed, and only {} to {} may", first,
                       begin, end - 1);
}

std::uint64_t AttackedDevice::sum(std::uint64_t proto::ib::QueuePairCounters::*count) const {
    std::uint64_t sum = 0;
    for (const std::uint32_t number : queue_pairs_) {
        sum += device_->port.queue_pair(number)->counters.*count;
    }
    return sum;
}

std::vector<std::pair<std::string, std::uint64_t>> AttackedDevice::received() const {
    const Rocev2Counters& wire = device_->wire.counters();
    const proto::ib::PortCounters& port = device_->port.counters();
    std::vector<std::pair<std::string, std::uint64_t>> counts = {
        {"too_short", wire.too_short},
        {"too_long", wire.udp.too_long},
        {"unknown_source", wire.udp.unknown_source},
        {"icrc_wrong", wire.icrc_wrong},
        {"identification_jumped", wire.identification_jumped},
        {"unknown_queue_pair", port.unknown_queue_pair},
        {"foreign_partition", port.foreign_partition},
        {"foreign_source", port.foreign_source},
        {"wrong_transport", port.wrong_transport},
        {"congestion", port.congestion},
    };
    for (std::size_t i = 0; i < port.malformed.size(); ++i) {
        // These packets are also in the counters of a queue pair, or in a counter above.
        if (static_cast<proto::ib::Malformed>(i) == proto::ib::Malformed::unknown_opcode) continue;
        std::string name(proto::ib::malformed_names[i]);
        std::ranges::replace(name, ' ', '_');
        counts.emplace_back(name, port.malformed[i]);
    }
    for (const proto::ib::QueuePairCounter& counter : proto::ib::reception_counters) {
        std::uint64_t packets = sum(counter.count);
        // Resumed packets are also in the counter of what happened to them.
        if (counter.name == "gaps") packets -= sum(&proto::ib::QueuePairCounters::resumed);
        counts.emplace_back(counter.name, packets);
    }
    return counts;
}

}  // namespace wireproof::hostile
