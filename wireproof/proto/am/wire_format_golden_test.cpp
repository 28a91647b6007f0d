// Every kind of packet in both widths, byte by byte. The bytes were composed by hand from the
// layouts in README.md; a bitwise CRC-32C outside this project computed their checksums.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "wireproof/proto/am/header_words.hpp"
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using Packet = std::vector<std::byte>;

Packet from_hex(std::string_view text) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    Packet bytes;
    int high = -1;
    for (const char c : text) {
        if (c == ' ') continue;
        if (high < 0) {
            high = digit(c);
        } else {
            bytes.push_back(static_cast<std::byte>(high * 16 + digit(c)));
            high = -1;
        }
    }
    return bytes;
}

//   dst,src  kind,round  count  cookie  number  acks  id  offset  checksum   data
std::vector<std::string_view> golden(Layout layout) {
    if (layout == Layout::sp2) {
        return {
            // REQ of handler 0x0BCD with two words
            "02010403 0103 0200 8877665544332211 f1ff feff0300 cd0b 00000000 9cd46620 "
            "01000000feffffff",
            // REP of handler 5 with one word
            "02010403 1200 0100 8877665544332211 f2ff feff0300 0500 00000000 e716e2d1 "
            "07000000",
            // CHUNK packet of 36, transfer 7
            "02010403 0301 2400 8877665544332211 f3ff feff0300 0700 801f0000 d91e68ab "
            "0102030405060708",
            // the same on the reply channel, along route 3
            "02010403 d301 2400 8877665544332211 f3ff feff0300 0700 801f0000 2fcd7ec0 "
            "0102030405060708",
            // OPEN of a store of 9000 bytes
            "02010403 0400 0000 8877665544332211 f4ff feff0300 0700 00000000 44756519 "
            "bc9a7856341200002823000000000000cd0b0000efbeadde",
            // GET_REQ of 9000 bytes
            "02010403 0500 0000 8877665544332211 f5ff feff0300 0700 00000000 223b3456 "
            "bc9a7856341200002823000000000000",
            // ACK, along route 1
            "02010403 4600 0000 8877665544332211 0000 feff0300 0000 00000000 97aa9dbf",
            // NACK
            "02010403 0709 0000 8877665544332211 f6ff feff0300 0000 00000000 57a85e4b",
            // NACK of selective recovery, of the reply channel
            "02010403 1709 0000 8877665544332211 f6ff feff0300 0000 00000000 2c6d5a26 "
            "060000004b0000002a",
            // KEEPALIVE of the reply channel
            "02010403 18ff 0000 8877665544332211 f7ff feff0300 0000 00000000 ae8a8154",
            // HELLO that wants an answer
            "02010403 0900 0100 0000000000000000 0000 00000000 0000 00000000 05469c70 "
            "424f4a0000000000111111111111111122222222222222223333333333333333",
            // REP of handler 0: store 7 is forbidden
            "02010403 1200 0300 8877665544332211 f8ff feff0300 0000 00000000 f4567642 "
            "020000000700000002000000",
        };
    }
    return {
        // REQ of handler 0x0BCD with two words
        "02010403 0103 0200 8877665544332211 f1ffcdab feff020103000403 cd0b0000 0000000000000000 "
        "e217305f00000000 "
        "01000000feffffff",
        // REP of handler 5 with one word
        "02010403 1200 0100 8877665544332211 f2ffcdab feff020103000403 05000000 0000000000000000 "
        "aeb2e40d00000000 "
        "07000000",
        // CHUNK packet of 36, transfer 7
        "02010403 0301 2400 8877665544332211 f3ffcdab feff020103000403 07000000 801f000001000000 "
        "e23b81e700000000 "
        "0102030405060708",
        // the same on the reply channel, along route 3
        "02010403 d301 2400 8877665544332211 f3ffcdab feff020103000403 07000000 801f000001000000 "
        "b203fd1500000000 "
        "0102030405060708",
        // OPEN of a store of 9000 bytes
        "02010403 0400 0000 8877665544332211 f4ffcdab feff020103000403 07000000 0000000000000000 "
        "d7d9f30300000000 "
        "bc9a7856341200002823000000000000cd0b0000efbeadde",
        // GET_REQ of 9000 bytes
        "02010403 0500 0000 8877665544332211 f5ffcdab feff020103000403 07000000 0000000000000000 "
        "72cacbff00000000 "
        "bc9a7856341200002823000000000000",
        // ACK, along route 1
        "02010403 4600 0000 8877665544332211 00000000 feff020103000403 00000000 0000000000000000 "
        "5a30d5df00000000",
        // NACK
        "02010403 0709 0000 8877665544332211 f6ffcdab feff020103000403 00000000 0000000000000000 "
        "233e521600000000",
        // NACK of selective recovery, of the reply channel
        "02010403 1709 0000 8877665544332211 f6ffcdab feff020103000403 00000000 0000000000000000 "
        "b565e3c500000000 "
        "060000004b0000002a",
        // KEEPALIVE of the reply channel
        "02010403 18ff 0000 8877665544332211 f7ffcdab feff020103000403 00000000 0000000000000000 "
        "bb63de2d00000000",
        // HELLO that wants an answer
        "02010403 0900 0100 0000000000000000 00000000 0000000000000000 00000000 0000000000000000 "
        "aec6650e00000000 "
        "424f4a0000000000111111111111111122222222222222223333333333333333",
        // REP of handler 0: store 7 is forbidden
        "02010403 1200 0300 8877665544332211 f8ffcdab feff020103000403 00000000 0000000000000000 "
        "eeaa505b00000000 "
        "020000000700000002000000",
    };
}

struct Meant {
    Header header;
    Packet data;
};

template <class Body>
Packet bytes_of(const Body& body) {
    Packet bytes(Body::size);
    body.encode(std::span<std::byte, Body::size>(bytes));
    return bytes;
}

/// What describe says about the packets above, in their order.
std::vector<Meant> meant(Layout layout) {
    const bool wide = layout == Layout::ethernet;
    const auto header = [&](Kind kind, std::uint32_t number) {
        Header h;
        h.dst = 0x0102;
        h.src = 0x0304;
        h.kind = kind;
        h.cookie = 0x1122334455667788;
        h.number = number == 0 ? 0 : (wide ? 0xABCDFFF0 : 0xFFF0) + number;
        h.ack = {wide ? 0x0102FFFEU : 0xFFFEU, wide ? 0x03040003U : 0x0003U};
        return h;
    };
    std::vector<Meant> all;
    Header h = header(Kind::request, 1);
    h.round = 3;
    h.count = 2;
    h.id = 0x0BCD;
    all.push_back({h, words({1, 0xFFFFFFFE})});
    h = header(Kind::reply, 2);
    h.channel = Channel::reply;
    h.count = 1;
    h.id = 5;
    all.push_back({h, words({7})});
    h = header(Kind::chunk, 3);
    h.round = 1;
    h.count = 36;
    h.id = 7;
    h.offset = wide ? 0x100001F80 : 0x1F80;
    all.push_back({h, from_hex("0102030405060708")});
    h.channel = Channel::reply;
    h.route = 3;
    all.push_back({h, all.back().data});
    h = header(Kind::open, 4);
    h.id = 7;
    all.push_back({h, bytes_of(OpenBody{0x123456789ABC, 9000, 0x0BCD, 0xDEADBEEF})});
    h = header(Kind::get_request, 5);
    h.id = 7;
    all.push_back({h, bytes_of(GetBody{0x123456789ABC, 9000})});
    h = header(Kind::ack, 0);
    h.route = 1;
    all.push_back({h, {}});
    h = header(Kind::nack, 6);
    h.round = 9;
    all.push_back({h, {}});
    h.channel = Channel::reply;
    all.push_back({h, bytes_of(NackBody{.end = 6, .reach = 75})});
    all.back().data.push_back(std::byte{0b101010});
    h = header(Kind::keepalive, 7);
    h.channel = Channel::reply;
    h.round = 255;
    all.push_back({h, {}});
    h = header(Kind::hello, 0);
    h.count = 1;
    h.cookie = 0;
    h.ack = {};
    all.push_back({h, bytes_of(HelloBody{0x4A4F42, 0x1111111111111111, 0x2222222222222222,
                                         0x3333333333333333})});
    h = header(Kind::reply, 8);
    h.channel = Channel::reply;
    h.count = 3;
    all.push_back({h, bytes_of(RefusalBody{2, 7, 2})});
    return all;
}

constexpr std::array layouts = {Layout::sp2, Layout::ethernet};

std::size_t header_size(Layout layout) {
    return layout == Layout::sp2 ? 32 : 48;
}

TEST(AmWireFormat, EncodesEveryKindToTheGoldenBytes) {
    for (const Layout layout : layouts) {
        const auto wanted = golden(layout);
        const auto packets = meant(layout);
        ASSERT_EQ(wanted.size(), packets.size());
        for (std::size_t i = 0; i < packets.size(); ++i) {
            const auto& [header, data] = packets[i];
            Packet packet(header_size(layout), std::byte{0xFF});
            encode(header, layout, packet);
            store_checksum(layout, packet, checksum(layout, packet, data));
            packet.insert(packet.end(), data.begin(), data.end());
            EXPECT_EQ(packet, from_hex(wanted[i])) << i;
        }
    }
}

TEST(AmWireFormat, DecodesEveryGoldenPacket) {
    for (const Layout layout : layouts) {
        const auto packets = meant(layout);
        std::size_t i = 0;
        for (const std::string_view hex : golden(layout)) {
            const Packet packet = from_hex(hex);
            EXPECT_TRUE(checksum_holds(layout, packet)) << i;
            const auto header = decode(layout, packet);
            ASSERT_TRUE(header) << i;
            EXPECT_TRUE(*header == packets[i].header) << i;
            ++i;
        }
    }
}

TEST(AmWireFormat, BodiesComeBackAsTheyWent) {
    const OpenBody open{1, ~std::uint64_t{0}, 3, 4};
    const auto open_bytes = bytes_of(open);
    const auto open_back = OpenBody::decode(ConstBytes(open_bytes).first<OpenBody::size>());
    EXPECT_EQ(open_back.address, 1);
    EXPECT_EQ(open_back.total, ~std::uint64_t{0});
    EXPECT_EQ(open_back.handler, 3);
    EXPECT_EQ(open_back.argument, 4);
    const auto get_bytes = bytes_of(GetBody{5, 6});
    const auto get_back = GetBody::decode(ConstBytes(get_bytes).first<GetBody::size>());
    EXPECT_EQ(get_back.address, 5);
    EXPECT_EQ(get_back.total, 6);
    const auto hello_bytes = bytes_of(HelloBody{7, 8, 9, 10});
    const auto hello = HelloBody::decode(ConstBytes(hello_bytes).first<HelloBody::size>());
    EXPECT_EQ(hello.job, 7);
    EXPECT_EQ(hello.nonce, 8);
    EXPECT_EQ(hello.echo, 9);
    EXPECT_EQ(hello.terms, 10);
    const auto nack_bytes = bytes_of(NackBody{11, 12});
    const auto nack_back = NackBody::decode(ConstBytes(nack_bytes).first<NackBody::size>());
    EXPECT_EQ(nack_back.end, 11);
    EXPECT_EQ(nack_back.reach, 12);
    const auto refusal_bytes = bytes_of(RefusalBody{13, 14, 15});
    const auto refusal = RefusalBody::decode(ConstBytes(refusal_bytes).first<RefusalBody::size>());
    EXPECT_EQ(refusal.what, 13);
    EXPECT_EQ(refusal.id, 14);
    EXPECT_EQ(refusal.reason, 15);
}

// AM-15: the checksum finds every damaged bit.
TEST(AmWireFormat, NoGoldenPacketSurvivesTheDamageOfAnyOneBit) {
    for (const Layout layout : layouts) {
        for (const std::string_view hex : golden(layout)) {
            Packet packet = from_hex(hex);
            for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
                const auto mask = std::byte{1} << (bit % 8);
                packet[bit / 8] ^= mask;
                EXPECT_FALSE(checksum_holds(layout, packet)) << bit;
                packet[bit / 8] ^= mask;
            }
            packet.pop_back();
            EXPECT_FALSE(checksum_holds(layout, packet));
        }
    }
}

TEST(AmWireFormat, DescribesPacketsAndCallsTheRestFrames) {
    constexpr std::array<std::string_view, 12> kinds = {"REQ",  "REP",       "CHUNK", "CHUNK",
                                                        "OPEN", "GET_REQ",   "ACK",   "NACK",
                                                        "NACK", "KEEPALIVE", "HELLO", "REP"};
    for (const Layout layout : layouts) {
        std::size_t i = 0;
        for (const std::string_view hex : golden(layout)) {
            const Packet packet = from_hex(hex);
            const FrameInfo info = describe_of(layout)(packet);
            const Header header = meant(layout)[i].header;
            EXPECT_EQ(info.kind, kinds[i]);
            EXPECT_EQ(info.length, packet.size());
            EXPECT_EQ(info.channel, static_cast<std::uint32_t>(header.channel));
            if (is_numbered(header.kind)) {
                EXPECT_EQ(info.number, header.number);
            }
            EXPECT_EQ(info.ack.has_value(), header.kind != Kind::hello);
            if (info.ack) {
                EXPECT_EQ(*info.ack, header.ack[info.channel]);
            }
            for (std::size_t size = 0; size < header_size(layout); ++size) {
                const FrameInfo cut = describe_of(layout)(ConstBytes(packet).first(size));
                EXPECT_EQ(cut.kind, "frame");
                EXPECT_EQ(cut.length, size);
            }
            ++i;
        }
    }
}

// The CHUNK above with four bytes after its data, which its checksum does not cover.
TEST(AmWireFormat, AFilledPacketStatesTheLengthOfItsFilling) {
    Packet packet = from_hex(
        "02010403 0301 2400 8877665544332211 f3ffcdab feff020103000403 07000000 801f000001000000 "
        "226b462204000000 0102030405060708 00000000");
    const auto header = decode(Layout::ethernet, packet);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->filler, 4);
    EXPECT_TRUE(checksum_holds(Layout::ethernet, packet));
    Packet written(48);
    encode(*header, Layout::ethernet, written);
    store_checksum(Layout::ethernet, written,
                   checksum(Layout::ethernet, written, ConstBytes(packet).subspan(48, 8)));
    EXPECT_TRUE(std::equal(written.begin(), written.end(), packet.begin()));
    for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
        const std::byte mask{static_cast<std::uint8_t>(1 << (bit % 8))};
        packet[bit / 8] ^= mask;
        const bool says_nothing = bit / 8 >= packet.size() - 4;
        EXPECT_EQ(checksum_holds(Layout::ethernet, packet), says_nothing) << bit;
        packet[bit / 8] ^= mask;
    }
    packet[44] = std::byte{13};  // more than there are
    EXPECT_FALSE(checksum_holds(Layout::ethernet, packet));
    packet[44] = std::byte{4};
    packet[46] = std::byte{1};
    EXPECT_EQ(decode(Layout::ethernet, packet), std::nullopt);
    packet[46] = std::byte{0};
    for (const int kind : {1, 2, 5, 6, 7, 8, 10, 4 + 32}) {  // all others, and a note
        packet[4] = static_cast<std::byte>(kind + (kind == 2 ? 16 : 0));
        EXPECT_EQ(decode(Layout::ethernet, packet), std::nullopt) << kind;
    }
}

// The fast path writes and reads the same bytes as the definition.
TEST(AmWireFormat, HeaderWordsAreTheHeader) {
    Random random(7);
    for (int i = 0; i < 1000; ++i) {
        Header header;
        header.dst = static_cast<std::uint16_t>(random.next());
        header.src = static_cast<std::uint16_t>(random.next());
        header.channel = i % 2 == 0 ? Channel::request : Channel::reply;
        header.kind = i % 4 >= 2 ? Kind::chunk : i % 4 == 0 ? Kind::request : Kind::reply;
        if (header.kind == Kind::chunk) header.offset = random.next();
        if (header.kind == Kind::chunk) header.filler = static_cast<std::uint16_t>(i);
        header.route = static_cast<std::uint8_t>(random.next() % 4);
        header.round = static_cast<std::uint8_t>(random.next());
        header.count = static_cast<std::uint16_t>(random.next());
        header.cookie = random.next() | 1;
        header.number = static_cast<std::uint32_t>(random.next());
        header.ack = {static_cast<std::uint32_t>(random.next()),
                      static_cast<std::uint32_t>(random.next())};
        header.id = static_cast<std::uint32_t>(random.next());
        std::array<std::byte, 48> bytes{};
        encode(header, Layout::ethernet, bytes);

        const HeaderWords read = HeaderWords::decode(bytes);
        EXPECT_EQ(read.flow,
                  HeaderWords::flow_of(header.dst, header.src, header.kind, header.channel));
        EXPECT_EQ(read.kind(), header.kind);
        EXPECT_EQ(read.channel(), header.channel);
        EXPECT_EQ(header_of(read), header);
        EXPECT_EQ(read.route, header.route);
        EXPECT_EQ(read.round, header.round);
        EXPECT_EQ(read.count, header.count);
        EXPECT_EQ(read.cookie, header.cookie);
        EXPECT_EQ(read.number, header.number);
        EXPECT_EQ(read.ack, header.ack);
        EXPECT_EQ(read.id, header.id);
        EXPECT_EQ(read.offset, header.offset);
        EXPECT_EQ(read.filler, header.filler);

        std::array<std::byte, 48> written{};
        written.fill(std::byte{0xFF});
        read.encode(written);
        EXPECT_EQ(written, bytes);
    }
}

}  // namespace
}  // namespace wireproof::am::test
