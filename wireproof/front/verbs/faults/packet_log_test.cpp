#include "wireproof/front/verbs/faults/packet_log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "wireproof/base/pcap.hpp"
#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof::verbs {
namespace {

std::vector<std::byte> content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// Writes one packet and checks what a reader of captures finds.
void expect_logged(const char* from, const char* to, std::optional<std::size_t> flipped) {
    const std::string path = testing::TempDir() + "verbs_packet_log_" + std::to_string(::getpid());
    const std::vector<std::byte> packet(44, std::byte{0x11});
    {
        auto log = PacketLog::create(path, Instant());
        ASSERT_TRUE(log);
        log->add(Instant(), {.from = *Address::parse(from),
                             .to = *Address::parse(to),
                             .packet = packet,
                             .flipped = flipped,
                             .mark = "damaged: a test"});
    }
    const auto file = content_of(path);
    std::remove(path.c_str());
    CaptureReader reader(capture_in(file));
    const auto captured = reader.next();
    ASSERT_TRUE(captured && *captured);
    EXPECT_EQ((*captured)->link_type, link_type_raw);
    EXPECT_EQ((*captured)->comment, "damaged: a test");
    const auto datagram = Rocev2Datagram::find_in_ip((*captured)->bytes, 4791);
    ASSERT_TRUE(datagram);
    EXPECT_EQ(datagram->from, *Address::parse(from));
    EXPECT_EQ(datagram->to, *Address::parse(to));
    EXPECT_EQ(datagram->packet.size(), packet.size());
    EXPECT_EQ(datagram->icrc_right(), !flipped);
}

TEST(VerbsPacketLog, APacketIsADatagramWithItsIcrc) {
    expect_logged("127.0.0.2:4791", "127.0.0.3:4791", {});
    expect_logged("[fd00::2]:4791", "[fd00::3]:4791", {});
}

TEST(VerbsPacketLog, ADamagedPacketHasTheIcrcOfTheWhole) {
    expect_logged("127.0.0.2:4791", "127.0.0.3:4791", 8 * 20 + 3);
}

TEST(VerbsPacketLog, AFileThatCannotBeMadeIsNamed) {
    const auto log = PacketLog::create("/nowhere/a.pcapng", Instant());
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().message.find("/nowhere/a.pcapng: "), 0U);
}

}  // namespace
}  // namespace wireproof::verbs
