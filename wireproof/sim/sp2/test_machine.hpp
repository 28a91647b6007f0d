// For the tests of this folder: a machine, and functions that send and receive numbered packets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wireproof/sim/sp2/machine.hpp"

namespace wireproof::sp2 {

/// A machine whose hosts take no time, so that all times come from the hardware.
inline Costs quick_host() {
    Costs costs;
    costs.compose_entry = costs.compose_line = costs.read_entry = costs.read_line = Duration();
    costs.poll_empty = costs.bus_access = Duration();
    return costs;
}

/// Every byte of packet `number` is derived from the number, except byte 4, which names a route.
inline std::byte pattern(std::uint32_t number, std::size_t place) {
    return static_cast<std::byte>(number * std::size_t{31} + place);
}

/// Composes a packet without storing its length, unless that completes a batch; false: no room.
inline bool commit_packet(Machine& machine, std::size_t from, std::size_t to, std::uint32_t number,
                          std::size_t size = entry_size, unsigned route = 0) {
    AdapterLane& lane = machine.wire(from).lane(PeerId{static_cast<std::uint16_t>(to)});
    TxFrame* room = lane.claim();
    if (room == nullptr) return false;
    const Bytes bytes = room->add_room(size);
    store_le<std::uint32_t>(bytes.first<4>(), number);
    bytes[4] = static_cast<std::byte>(route);
    for (std::size_t i = 5; i < size; ++i) bytes[i] = pattern(number, i);
    lane.commit();
    return true;
}

inline bool send_packet(Machine& machine, std::size_t from, std::size_t to, std::uint32_t number,
                        std::size_t size = entry_size, unsigned route = 0) {
    const bool sent = commit_packet(machine, from, to, number, size, route);
    machine.wire(from).flush(machine.host(from).now());
    return sent;
}

/// The number of a packet; empty if one of its bytes belongs to another packet.
inline std::optional<std::uint32_t> number_of(ConstBytes bytes) {
    const auto number = load_le<std::uint32_t>(bytes.first<4>());
    for (std::size_t i = 5; i < bytes.size(); ++i) {
        if (bytes[i] != pattern(number, i)) return std::nullopt;
    }
    return number;
}

/// Polls until no packet is on its way. Returns sender and number of each: "0:7 1:3".
inline std::string drain(Machine& machine, std::size_t node) {
    std::string text;
    while (machine.wire(node).next_deadline() != never) {
        const auto frame = machine.wire(node).receive(machine.wire(node).next_deadline());
        if (!frame) continue;
        if (!text.empty()) text += ' ';
        const auto number = number_of(frame->bytes);
        text += std::to_string(static_cast<unsigned>(frame->from)) + ':' +
                (number ? std::to_string(*number) : "garbled");
    }
    return text;
}

}  // namespace wireproof::sp2
