// Packets of Soft-RoCE (Linux 6.1) without their ICRC, from the captures in tests/data/rocev2, and
// one packet of scapy. The test checks that each packet decodes to these fields, and that these
// fields encode to the same bytes.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/packet/packet_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

struct Golden {
    std::string_view hex;
    std::string_view name;
    Headers headers;
    std::string_view payload = "";
};

Bth bth(std::uint8_t opcode, std::uint32_t qp, std::uint32_t psn, bool ack_request = false,
        std::uint8_t pad = 0) {
    Bth bth;
    bth.opcode = opcode;
    bth.pad = pad;
    bth.dest_qp = qp;
    bth.psn = Psn(psn);
    bth.ack_request = ack_request;
    return bth;
}

Aeth aeth(std::uint8_t syndrome, std::uint32_t msn) {
    return {Syndrome{syndrome}, Msn(msn)};
}

std::vector<Golden> goldens() {
    return {
        // rc_send
        {"0400ffff 0000003e 80fffffa", "SEND Only", {.bth = bth(0x04, 0x3E, 0xFFFFFA, true)}},
        {"0230ffff 0000003e 80000002 d8000000",
         "SEND Last",
         {.bth = bth(0x02, 0x3E, 2, true, 3)},
         "d8"},
        // rc_pipelined
        {"0500ffff 00000044 80000004 c0de0004 353c434a51585f666d747b828990979ea5acb3ba",
         "SEND Only Imm",
         {.bth = bth(0x05, 0x44, 4, true), .immediate = {0xC0DE0004}},
         "353c434a51585f666d747b828990979ea5acb3ba"},
        // rc_write
        {"0b20ffff 0000003f 80000002 00007f012b097040 0000567c 00000006 c0de0005 424950575e650000",
         "WRITE Only Imm",
         {.bth = bth(0x0B, 0x3F, 2, true, 2),
          .reth = {0x7F012B097040, 0x567C, 6},
          .immediate = {0xC0DE0005}},
         "424950575e65"},
        {"0a00ffff 0000003f 80000006 00007f012b0a7040 0000567c 00000000",
         "WRITE Only",
         {.bth = bth(0x0A, 0x3F, 6, true), .reth = {0x7F012B0A7040, 0x567C, 0}}},
        // uc_write
        {"2b20ffff 0000003b 00000002 00007f796fad2040 00004ebe 00000006 c0de0005 424950575e650000",
         "WRITE Only Imm",
         {.bth = bth(0x2B, 0x3B, 2, false, 2),
          .reth = {0x7F796FAD2040, 0x4EBE, 6},
          .immediate = {0xC0DE0005}},
         "424950575e65"},
        // uc_mtu256
        {"2230ffff 0000003c 00000004 47000000",
         "SEND Last",
         {.bth = bth(0x22, 0x3C, 4, false, 3)},
         "47"},
        // perftest_read_rc
        {"0c00ffff 0000005d 8062c6b9 000055817d03c000 00008cc8 00000bb8",
         "READ Request",
         {.bth = bth(0x0C, 0x5D, 0x62C6B9, true), .reth = {0x55817D03C000, 0x8CC8, 3000}}},
        // rc_read
        {"0f30ffff 00000040 00fffffe 1f000004 3c000000",
         "READ Resp Last",
         {.bth = bth(0x0F, 0x40, 0xFFFFFE, false, 3), .aeth = aeth(0x1F, 4)},
         "3c"},
        {"1000ffff 00000040 00000008 1f000008",
         "READ Resp Only",
         {.bth = bth(0x10, 0x40, 8), .aeth = aeth(0x1F, 8)}},
        // perftest_atomic_cas
        {"1300ffff 0000005f 8032351f 0000557184a9d000 00008e66 0000000000000000 0000000000000000",
         "CmpSwap",
         {.bth = bth(0x13, 0x5F, 0x32351F, true), .atomic = {0x557184A9D000, 0x8E66, 0, 0}}},
        {"1200ffff 0000005f 0032351f 1f000001 a2b4abefa0840159",
         "Atomic Ack",
         {.bth = bth(0x12, 0x5F, 0x32351F),
          .aeth = aeth(0x1F, 1),
          .atomic_ack = {0xA2B4ABEFA0840159}}},
        // host_rc_nak_misaligned_atomic
        {"1400ffff 0000007e 80123456 00007f91c093c004 0000b4b5 0000000000000001 0000000000000000",
         "FetchAdd",
         {.bth = bth(0x14, 0x7E, 0x123456, true), .atomic = {0x7F91C093C004, 0xB4B5, 1, 0}}},
        // rc_rnr, rc_drop_read_request, rc_nak_badkey_write
        {"1100ffff 00000047 00fffffb 32000001",
         "RNR NAK",
         {.bth = bth(0x11, 0x47, 0xFFFFFB), .aeth = aeth(0x32, 1)}},
        {"1100ffff 00000055 00000010 60000000",
         "NAK sequence",
         {.bth = bth(0x11, 0x55, 0x10), .aeth = aeth(0x60, 0)}},
        {"1100ffff 00000049 00fffffb 62000001",
         "NAK remote access",
         {.bth = bth(0x11, 0x49, 0xFFFFFB), .aeth = aeth(0x62, 1)}},
        // rping_rdmacm, the first bytes of its payload
        {"6400ffff 00000001 80000003 80010000 00000001 01070102",
         "SEND Only",
         {.bth = bth(0x64, 1, 3, true), .deth = {0x80010000, 1}},
         "01070102"},
    };
}

TEST(IbPacketGolden, CapturedPacketsHaveTheFieldsThatWereSent) {
    for (const Golden& golden : goldens()) {
        const PacketBytes bytes = from_hex(golden.hex);
        const auto packet = Packet::decode({.bytes = bytes});
        ASSERT_TRUE(packet) << golden.hex << ": " << name_of(packet.error());
        EXPECT_EQ(packet->headers, golden.headers) << golden.hex;
        EXPECT_EQ(to_hex(packet->payload), golden.payload) << golden.hex;
        EXPECT_TRUE(packet->padded_right()) << golden.hex;
        EXPECT_EQ(describe(bytes).kind, golden.name);
    }
}

TEST(IbPacketGolden, TheSameFieldsMakeTheSameBytes) {
    for (const Golden& golden : goldens()) {
        const PacketBytes payload = from_hex(golden.payload);
        const PacketBytes bytes = encoded(golden.headers, payload);
        EXPECT_EQ(to_hex(bytes), to_hex(from_hex(golden.hex)));
        EXPECT_EQ(bytes.size(),
                  packet_size(*find_opcode(golden.headers.bth.opcode), payload.size()));
    }
}

// Migration request and pad together, which no captured packet has.
TEST(IbPacketGolden, TakesThePacketOfScapy) {
    const auto bytes =
        from_hex("2460ffff 000000d3 00cf1710 4630818be28935d90e9a95505401be885e500000");
    const auto packet = Packet::decode({.bytes = bytes});
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->opcode->name, "SEND Only");
    EXPECT_EQ(packet->bth().dest_qp, 0xD3U);
    EXPECT_EQ(packet->bth().psn, Psn(0xCF1710));
    EXPECT_TRUE(packet->bth().migrated);
    EXPECT_EQ(packet->bth().pad, 2);
    EXPECT_EQ(packet->payload.size(), 18U);
}

TEST(IbPacketGolden, DescribesWhereAPacketGoesAndItsNumber) {
    const FrameInfo send = describe(from_hex("2230ffff 0000003c 00000004 47000000"));
    EXPECT_EQ(send.channel, 0x3CU);
    EXPECT_EQ(send.number, 4U);
    EXPECT_EQ(send.ack, std::nullopt);
    EXPECT_EQ(send.length, 16U);
    const FrameInfo ack = describe(from_hex("1100ffff 00000055 00000010 1f000000"));
    EXPECT_EQ(ack.kind, "ACK");
    EXPECT_EQ(ack.number, std::nullopt);
    EXPECT_EQ(ack.ack, 0x10U);
    EXPECT_EQ(describe({}).kind, "frame");
    EXPECT_EQ(describe(from_hex("3f")).kind, "frame");
}

}  // namespace
}  // namespace wireproof::proto::ib::test
