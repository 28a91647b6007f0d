// Checks every packet that Soft-RoCE sent: its ICRC, its headers and its length. Encoding its
// fields again must give the same bytes.
#include <gtest/gtest.h>

#include <iomanip>
#include <map>
#include <sstream>

#include "tests/interop/rocev2_captures.hpp"
#include "tests/interop/tshark.hpp"

#include "wireproof/wire/udp/identification_window.hpp"

namespace wireproof::test {
namespace {

using proto::ib::Operation;
using proto::ib::Packet;

// UC-2: all are right except the one that was made wrong on purpose.
TEST(Captures, EveryIcrcIsRightButOne) {
    std::size_t packets = 0;
    std::vector<std::string> wrong;
    for (const Capture& capture : all_captures()) {
        for (const CapturedRocev2& one : capture.packets) {
            ++packets;
            if (one.datagram().icrc_right()) continue;
            wrong.push_back(capture.name + " " + std::to_string(one.number));
        }
    }
    EXPECT_EQ(packets, 606U);
    EXPECT_EQ(wrong, std::vector<std::string>{"host_rc_bad_icrc_dropped 1"});
}

// A plain socket hides the identification. Soft-RoCE increments it with each packet.
TEST(Captures, EveryPacketIsVerifiedWithoutItsIdentification) {
    std::size_t identified = 0;
    for (const Capture& capture : all_captures()) {
        std::map<std::string, IdentificationWindow> windows;  // by sender and receiver
        for (const CapturedRocev2& one : capture.packets) {
            const Rocev2Datagram datagram = one.datagram();
            if (datagram.to.family != Address::Family::ipv4 || !datagram.icrc_right()) continue;
            const std::size_t size = datagram.packet.size();
            const IcrcCover hidden({.from = datagram.from, .to = datagram.to, .packet = size});
            const std::uint32_t difference = hidden.icrc(datagram.packet) ^ datagram.icrc;
            const auto identification = identification_behind(difference, size);
            ASSERT_TRUE(identification) << capture.name << " " << one.number;
            const auto shown = datagram.headers.subspan(4).first<2>();
            EXPECT_EQ(*identification >> 8, std::to_integer<unsigned>(shown[0]));
            EXPECT_EQ(*identification & 0xFF, std::to_integer<int>(shown[1]));
            const std::string way = datagram.from.to_string() + datagram.to.to_string();
            EXPECT_TRUE(windows[way].believes(*identification, {}))
                << capture.name << " " << one.number;
            ++identified;
        }
    }
    EXPECT_EQ(identified, 606U - 1 - 11);  // without the damaged packet and those over IPv6
}

// Five Sends, four seconds apart. After a pause Linux adds a random number to its counter, up to
// the ticks of the pause.
TEST(Captures, EveryPacketAfterAPauseIsVerifiedWithoutItsIdentification) {
    const Capture capture = Capture::named("live/idle_uc2");
    IdentificationWindow window;
    std::size_t believed = 0;
    for (const CapturedRocev2& one : capture.packets) {
        const Rocev2Datagram datagram = one.datagram();
        ASSERT_TRUE(datagram.icrc_right()) << one.number;
        const std::size_t size = datagram.packet.size();
        const IcrcCover hidden({.from = datagram.from, .to = datagram.to, .packet = size});
        const auto identification =
            identification_behind(hidden.icrc(datagram.packet) ^ datagram.icrc, size);
        ASSERT_TRUE(identification) << one.number;
        const std::uint64_t after = one.time - capture.packets.front().time;
        const Instant at(Duration::nanoseconds(static_cast<std::int64_t>(after)));
        if (window.believes(*identification, {at, at})) ++believed;
    }
    EXPECT_EQ(capture.packets.size(), 5U);
    EXPECT_EQ(believed, 5U);
}

TEST(Captures, EveryPacketDecodesAndItsFieldsMakeTheSameBytes) {
    for (const Capture& capture : all_captures()) {
        for (const CapturedRocev2& one : capture.packets) {
            const ConstBytes bytes = one.datagram().packet;
            const auto packet = Packet::decode({.bytes = bytes});
            ASSERT_TRUE(packet) << capture.name << " " << one.number;
            EXPECT_TRUE(packet->padded_right()) << capture.name << " " << one.number;
            std::vector<std::byte> room(4200);
            TxFrame again;
            again.open(room, {.frame_max = room.size()});
            encode(packet->headers, std::span(&packet->payload, 1), again);
            std::vector<std::byte> made(again.size());
            again.gather(made);
            EXPECT_TRUE(std::ranges::equal(made, bytes)) << capture.name << " " << one.number;
        }
    }
}

TEST(Captures, EveryPayloadHasALengthThatItsOpcodeAllows) {
    const std::map<std::string, std::size_t> path_mtus = {
        {"rc_mtu256", 256}, {"uc_mtu256", 256}, {"uc_mtu4096", 4096}};
    for (const Capture& capture : all_captures()) {
        const auto known = path_mtus.find(capture.name);
        const std::size_t path_mtu = known == path_mtus.end() ? 1024 : known->second;
        // In this capture the scripted peer sends a Middle of 16 bytes, which breaks two rules.
        if (capture.name == "host_rc_nak_middle_without_first") continue;
        for (const CapturedRocev2& one : capture.packets) {
            const Packet packet = one.packet();
            EXPECT_TRUE(packet.opcode->payload_fits(packet.payload.size(), path_mtu))
                << capture.name << " " << one.number << ": " << packet.opcode->name << " of "
                << packet.payload.size();
        }
    }
}

/// The name of a packet in the captures' README.
std::string short_name(const Packet& packet) {
    const auto& opcode = *packet.opcode;
    const auto& aeth = packet.headers.aeth;
    if (packet.bth().dest_qp == 1) return "QP1.MAD";
    switch (opcode.verb) {
        case proto::ib::Verb::read_request: return "RREQ";
        case proto::ib::Verb::compare_swap: return "CMP_SWAP";
        case proto::ib::Verb::fetch_add: return "FETCH_ADD";
        case proto::ib::Verb::atomic_acknowledge: return "ATOMIC_ACK";
        case proto::ib::Verb::acknowledge:
            if (aeth.syndrome.kind() == proto::ib::SyndromeKind::ack) return "ACK";
            return (aeth.syndrome.kind() == proto::ib::SyndromeKind::nak ? "NAK" : "RNR") +
                   std::to_string(aeth.syndrome.code());
        default: break;
    }
    std::string name = opcode.verb == proto::ib::Verb::send ? "S." : "W.";
    if (opcode.verb == proto::ib::Verb::read_response) name = "RR.";
    name += std::string("FMLO")[static_cast<std::size_t>(opcode.part)];
    return name + (opcode.has(proto::ib::Extended::immediate) ? "+imm" : "");
}

/// The sender of the packet: the scripted peer, the client, or the server (guest 1 if the peer is a
/// script).
std::string arrow(const Capture& capture, const Rocev2Datagram& datagram) {
    const auto& from = datagram.from.host;
    const std::size_t last = datagram.from.family == Address::Family::ipv4 ? 3 : 15;
    if (capture.name.starts_with("host_")) return from[last] == 1 ? "h>" : "<";
    const int client = datagram.from.family == Address::Family::ipv4 ? 2 : 1;
    return from[last] == client ? ">" : "<";
}

std::string in_order(const Capture& capture) {
    std::vector<std::pair<std::string, int>> runs;
    for (const CapturedRocev2& one : capture.packets) {
        const std::string text = arrow(capture, one.datagram()) + short_name(one.packet());
        if (runs.empty() || runs.back().first != text) runs.emplace_back(text, 0);
        ++runs.back().second;
    }
    std::string all;
    for (const auto& [text, count] : runs) {
        all += (all.empty() ? "" : " ") + text + (count > 1 ? "x" + std::to_string(count) : "");
    }
    return all;
}

// Other tools made the table.
TEST(Captures, AreWhatTheirReadmeSays) {
    std::map<std::string, std::string> table;
    std::ifstream readme(rocev2_folder() / "README.md");
    for (std::string line; std::getline(readme, line);) {
        if (!line.starts_with("| ")) continue;
        std::vector<std::string> cells;
        std::istringstream cut(line);
        for (std::string cell; std::getline(cut, cell, '|');) {
            const auto first = cell.find_first_not_of(' ');
            if (first == std::string::npos) cell.clear();
            cells.push_back(
                cell.empty() ? cell : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
        }
        if (cells.size() >= 7) table[cells[1]] = cells[6];
    }
    const std::vector<Capture> captures = all_captures();
    EXPECT_EQ(captures.size(), 39U);
    for (const Capture& capture : captures) {
        EXPECT_EQ(in_order(capture), table[capture.name]) << capture.name;
    }
}

/// The fields of a packet as tshark writes them: some in decimal, some in hexadecimal.
std::string like_tshark(const Packet& packet) {
    std::ostringstream line;
    const auto hex = [&line](std::uint64_t value, int digits, bool prefix = true) {
        line << ' ' << (prefix ? "0x" : "") << std::hex << std::setw(digits) << std::setfill('0')
             << value << std::dec;
    };
    const proto::ib::Headers& headers = packet.headers;
    const proto::ib::Opcode& opcode = *packet.opcode;
    line << +headers.bth.opcode << ' ' << headers.bth.psn.value();
    hex(headers.bth.dest_qp, 6);
    line << ' ' << +headers.bth.pad << ' ' << headers.bth.ack_request << ' '
         << headers.bth.solicited << ' ' << headers.bth.migrated << ' ' << headers.bth.partition;
    if (opcode.has(proto::ib::Extended::aeth)) {
        line << ' ' << +headers.aeth.syndrome.byte << ' ' << headers.aeth.msn.value();
    }
    if (opcode.has(proto::ib::Extended::reth)) {
        line << ' ' << headers.reth.length;
        hex(headers.reth.address, 16);
        hex(headers.reth.rkey, 8);
    }
    if (opcode.has(proto::ib::Extended::atomic)) {
        hex(headers.atomic.address, 16);
        hex(headers.atomic.rkey, 8);
        line << ' ' << headers.atomic.swap_or_add << ' ' << headers.atomic.compare;
    }
    if (opcode.has(proto::ib::Extended::atomic_ack)) line << ' ' << headers.atomic_ack.original;
    if (opcode.has(proto::ib::Extended::immediate)) hex(headers.immediate.value, 8, false);
    if (opcode.has(proto::ib::Extended::deth)) {
        hex(headers.deth.qkey, 16);
        hex(headers.deth.source_qp, 8);
    }
    return line.str();
}

/// The line without the empty places of fields that a packet does not have.
std::string squeezed(const std::string& line) {
    std::string text;
    for (const char c : line) {
        if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
    }
    return text;
}

TEST(Captures, TsharkReadsTheSameFields) {
    std::vector<std::vector<std::byte>> frames;
    std::vector<std::string> expected;
    for (const Capture& capture : all_captures()) {
        for (const CapturedRocev2& one : capture.packets) {
            frames.push_back(one.frame);
            const bool ipv6 = one.datagram().to.family == Address::Family::ipv6;
            // Soft-RoCE sends no UDP checksum, which is not allowed over IPv6.
            expected.push_back(like_tshark(one.packet()) +
                               (ipv6 ? " Illegal checksum value (0)" : ""));
        }
    }
    const auto lines =
        dissected(frames, {"infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp",
                           "infiniband.bth.padcnt", "infiniband.bth.a", "infiniband.bth.se",
                           "infiniband.bth.m", "infiniband.bth.p_key", "infiniband.aeth.syndrome",
                           "infiniband.aeth.msn", "infiniband.reth.dmalen", "infiniband.reth.va",
                           "infiniband.reth.r_key", "infiniband.atomiceth.swapdt",
                           "infiniband.atomiceth.cmpdt", "infiniband.atomicacketh.origremdt",
                           "infiniband.immdt", "infiniband.deth.q_key", "infiniband.deth.srcqp"});
    if (!lines) GTEST_SKIP() << "tshark is not installed";
    ASSERT_EQ(lines->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(squeezed((*lines)[i]), expected[i]);
    }
}

}  // namespace
}  // namespace wireproof::test
