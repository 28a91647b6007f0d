// The opcodes of InfiniBand as data: which headers follow the base header, and which part of a
// message the packet is. The upper three bits of an opcode give the transport, the lower five the
// operation. Only the combinations in the table exist. IBA volume 1, chapter 9 (table of opcodes).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wireproof::proto::ib {

enum class Transport : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, congestion = 4 };

constexpr Transport transport_of(std::uint8_t opcode) {
    return static_cast<Transport>(opcode >> 5);
}

constexpr std::string_view name_of(Transport transport) {
    constexpr std::array<std::string_view, 5> names = {"RC", "UC", "RD", "UD", "CNP"};
    const auto index = static_cast<std::size_t>(transport);
    return index < names.size() ? names[index] : "?";
}

enum class Operation : std::uint8_t {
    send_first = 0x00,
    send_middle = 0x01,
    send_last = 0x02,
    send_last_immediate = 0x03,
    send_only = 0x04,
    send_only_immediate = 0x05,
    write_first = 0x06,
    write_middle = 0x07,
    write_last = 0x08,
    write_last_immediate = 0x09,
    write_only = 0x0A,
    write_only_immediate = 0x0B,
    read_request = 0x0C,
    read_response_first = 0x0D,
    read_response_middle = 0x0E,
    read_response_last = 0x0F,
    read_response_only = 0x10,
    acknowledge = 0x11,
    atomic_acknowledge = 0x12,
    compare_swap = 0x13,
    fetch_add = 0x14,
    send_last_invalidate = 0x16,
    send_only_invalidate = 0x17,
};

constexpr std::uint8_t opcode_of(Transport transport, Operation operation) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(transport) << 5 |
                                     static_cast<unsigned>(operation));
}

/// What a packet does, for all parts of a message.
enum class Verb : std::uint8_t {
    send,
    write,
    read_request,
    read_response,
    acknowledge,
    atomic_acknowledge,
    compare_swap,
    fetch_add,
    congestion,
};

enum class Part : std::uint8_t { first, middle, last, only };

/// Extended headers, in their order after the BTH.
enum class Extended : std::uint8_t {
    deth = 1,
    reth = 2,
    atomic = 4,
    aeth = 8,
    atomic_ack = 16,
    immediate = 32,
    invalidate = 64,
};

/// How many bytes a packet of an opcode may carry.
enum class PayloadRule : std::uint8_t {
    none,            // 0
    whole,           // the path MTU
    one_or_more,     // 1 to the path MTU
    up_to_path_mtu,  // 0 to the path MTU
    reserved_16,     // 16 bytes without meaning
};

struct Opcode {
    std::uint8_t byte;
    std::string_view name;  // without the transport
    Verb verb;
    Part part;
    std::uint8_t extended;  // a set of Extended
    PayloadRule payload;

    constexpr Transport transport() const { return transport_of(byte); }
    /// For the transports that share operations. A congestion notification has no operation.
    constexpr Operation operation() const { return static_cast<Operation>(byte & 0x1F); }
    constexpr bool has(Extended header) const {
        return (extended & static_cast<std::uint8_t>(header)) != 0;
    }
    constexpr bool begins() const { return part == Part::first || part == Part::only; }
    constexpr bool ends() const { return part == Part::last || part == Part::only; }
    /// Whether a responder sends it.
    constexpr bool is_response() const {
        return verb == Verb::read_response || verb == Verb::acknowledge ||
               verb == Verb::atomic_acknowledge;
    }
    /// Bytes of the extended headers.
    constexpr std::size_t extended_size() const {
        constexpr std::array<std::size_t, 7> sizes = {8, 16, 28, 4, 8, 4, 4};
        std::size_t sum = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i) sum += (extended >> i & 1) * sizes[i];
        return sum;
    }
    constexpr bool payload_fits(std::size_t bytes, std::size_t path_mtu) const {
        switch (payload) {
            case PayloadRule::none: return bytes == 0;
            case PayloadRule::whole: return bytes == path_mtu;
            case PayloadRule::one_or_more: return bytes >= 1 && bytes <= path_mtu;
            case PayloadRule::up_to_path_mtu: return bytes <= path_mtu;
            case PayloadRule::reserved_16: return bytes == 16;
        }
        return false;
    }
};

/// Of a congestion notification packet (CNP).
inline constexpr std::uint8_t notification_opcode = 0x81;

namespace opcodes {

constexpr std::uint8_t set_of(auto... headers) {
    return static_cast<std::uint8_t>((0U | ... | static_cast<unsigned>(headers)));
}

inline constexpr auto deth = Extended::deth;
inline constexpr auto reth = Extended::reth;
inline constexpr auto aeth = Extended::aeth;
inline constexpr auto imm = Extended::immediate;
inline constexpr auto inv = Extended::invalidate;

// RC has all of these opcodes. UC has the first twelve, with its own transport bits (UC-6).
inline constexpr std::array connected = {
    Opcode{0x00, "SEND First", Verb::send, Part::first, set_of(), PayloadRule::whole},
    Opcode{0x01, "SEND Middle", Verb::send, Part::middle, set_of(), PayloadRule::whole},
    Opcode{0x02, "SEND Last", Verb::send, Part::last, set_of(), PayloadRule::one_or_more},
    Opcode{0x03, "SEND Last Imm", Verb::send, Part::last, set_of(imm), PayloadRule::one_or_more},
    Opcode{0x04, "SEND Only", Verb::send, Part::only, set_of(), PayloadRule::up_to_path_mtu},
    Opcode{0x05, "SEND Only Imm", Verb::send, Part::only, set_of(imm), PayloadRule::up_to_path_mtu},
    Opcode{0x06, "WRITE First", Verb::write, Part::first, set_of(reth), PayloadRule::whole},
    Opcode{0x07, "WRITE Middle", Verb::write, Part::middle, set_of(), PayloadRule::whole},
    Opcode{0x08, "WRITE Last", Verb::write, Part::last, set_of(), PayloadRule::one_or_more},
    Opcode{0x09, "WRITE Last Imm", Verb::write, Part::last, set_of(imm), PayloadRule::one_or_more},
    Opcode{0x0A, "WRITE Only", Verb::write, Part::only, set_of(reth), PayloadRule::up_to_path_mtu},
    Opcode{0x0B, "WRITE Only Imm", Verb::write, Part::only, set_of(reth, imm),
           PayloadRule::up_to_path_mtu},
    Opcode{0x0C, "READ Request", Verb::read_request, Part::only, set_of(reth), PayloadRule::none},
    Opcode{0x0D, "READ Resp First", Verb::read_response, Part::first, set_of(aeth),
           PayloadRule::whole},
    Opcode{0x0E, "READ Resp Middle", Verb::read_response, Part::middle, set_of(),
           PayloadRule::whole},
    Opcode{0x0F, "READ Resp Last", Verb::read_response, Part::last, set_of(aeth),
           PayloadRule::one_or_more},
    Opcode{0x10, "READ Resp Only", Verb::read_response, Part::only, set_of(aeth),
           PayloadRule::up_to_path_mtu},
    Opcode{0x11, "Acknowledge", Verb::acknowledge, Part::only, set_of(aeth), PayloadRule::none},
    Opcode{0x12, "Atomic Ack", Verb::atomic_acknowledge, Part::only,
           set_of(aeth, Extended::atomic_ack), PayloadRule::none},
    Opcode{0x13, "CmpSwap", Verb::compare_swap, Part::only, set_of(Extended::atomic),
           PayloadRule::none},
    Opcode{0x14, "FetchAdd", Verb::fetch_add, Part::only, set_of(Extended::atomic),
           PayloadRule::none},
    Opcode{0x16, "SEND Last Inv", Verb::send, Part::last, set_of(inv), PayloadRule::one_or_more},
    Opcode{0x17, "SEND Only Inv", Verb::send, Part::only, set_of(inv), PayloadRule::up_to_path_mtu},
};
inline constexpr std::size_t unreliable = 12;

inline constexpr std::array others = {
    Opcode{0x64, "SEND Only", Verb::send, Part::only, set_of(deth), PayloadRule::up_to_path_mtu},
    Opcode{0x65, "SEND Only Imm", Verb::send, Part::only, set_of(deth, imm),
           PayloadRule::up_to_path_mtu},
    Opcode{notification_opcode, "CNP", Verb::congestion, Part::only, set_of(),
           PayloadRule::reserved_16},
};

inline constexpr auto all = [] {
    std::array<Opcode, connected.size() + unreliable + others.size()> table{};
    auto next = std::copy(connected.begin(), connected.end(), table.begin());
    for (std::size_t i = 0; i < unreliable; ++i) {
        *next = connected[i];
        next->byte = opcode_of(Transport::uc, connected[i].operation());
        ++next;
    }
    std::copy(others.begin(), others.end(), next);
    return table;
}();

// Index: opcode. Value: place in the table plus one.
inline constexpr auto places = [] {
    std::array<std::uint8_t, 256> by_byte{};
    for (std::size_t i = 0; i < all.size(); ++i) {
        by_byte[all[i].byte] = static_cast<std::uint8_t>(i + 1);
    }
    return by_byte;
}();

}  // namespace opcodes

/// Null if no packet has this opcode: it is reserved, or its transport is not supported.
constexpr const Opcode* find_opcode(std::uint8_t byte) {
    const std::size_t place = opcodes::places[byte];
    return place == 0 ? nullptr : &opcodes::all[place - 1];
}

}  // namespace wireproof::proto::ib
