// The bytes on the line (docs/rules/ue.md).
#include <gtest/gtest.h>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {
namespace {

std::string to_hex(ConstBytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[std::to_integer<std::size_t>(byte) >> 4];
        text += digits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

std::string hex_of(const CtlOs& ctl, NibbleOrder order = NibbleOrder::number_high) {
    std::array<std::byte, CtlOs::size> bytes;
    ctl.encode(bytes, order);
    EXPECT_EQ(CtlOs::decode(bytes, order), ctl);
    return to_hex(bytes);
}

// LLR-26
TEST(UeWireFormat, CtlOsAreThePublishedBytes) {
    EXPECT_EQ(hex_of({CtlType::ack, 900}), "4b01003846000000");
    EXPECT_EQ(hex_of({CtlType::nack, 900}), "4b02003846000000");
    EXPECT_EQ(hex_of({CtlType::ack, 1'048'575}), "4b01fffff6000000");
    EXPECT_EQ(hex_of({CtlType::init, 1, 0xBEEF}), "4b03000016efbe00");
    EXPECT_EQ(hex_of({CtlType::init_echo, 0x12345, 0x0102}), "4b04123456020100");
    EXPECT_EQ(hex_of({CtlType::ack, 900}, NibbleOrder::number_low), "4b01003864000000");
}

// LLR-26
TEST(UeWireFormat, RefusesBytesThatAreNoCtlOs) {
    const auto decoded = [](std::string_view hex) {
        std::array<std::byte, CtlOs::size> bytes;
        for (std::size_t i = 0; i < 8; ++i) {
            bytes[i] =
                static_cast<std::byte>(std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
        }
        return CtlOs::decode(bytes, NibbleOrder::number_high);
    };
    EXPECT_TRUE(decoded("4b01003846000000"));
    EXPECT_FALSE(decoded("4a01003846000000"));
    EXPECT_FALSE(decoded("4b00003846000000"));
    EXPECT_FALSE(decoded("4b05003846000000"));
    EXPECT_FALSE(decoded("4b01003845000000"));
    EXPECT_FALSE(decoded("4b01003846010000"));  // an ACK has no init_data
    EXPECT_FALSE(decoded("4b01003846000001"));
    EXPECT_EQ(decoded("4b10123400000000")->type, CtlType::cf_update);
}

// LLR-1, LLR-25
TEST(UeWireFormat, TheNumberStandsInThePreambleInEachOrder) {
    const auto hex = [](std::optional<std::uint32_t> number, PreambleOrder order) {
        std::array<std::byte, preamble_size> bytes;
        Preamble{number}.encode(bytes, order);
        EXPECT_EQ(Preamble::decode(bytes, order), Preamble{number});
        return to_hex(bytes);
    };
    using enum PreambleOrder;
    EXPECT_EQ(hex(0xABCDE, number_first), "fba7bcde555555d5");
    EXPECT_EQ(hex(0xABCDE, mark_first), "fb7abcde555555d5");
    EXPECT_EQ(hex(0xABCDE, low_first), "fbe7cdab555555d5");
    EXPECT_EQ(hex(0xFFFFF, number_first), "fbf7ffff555555d5");
    EXPECT_EQ(hex(0x55555, number_first), "fb575555555555d5");
    for (const PreambleOrder order : {number_first, mark_first, low_first}) {
        EXPECT_EQ(hex(std::nullopt, order), "fb555555555555d5");
    }
}

// LLR-25
TEST(UeWireFormat, RefusesBytesThatAreNoPreamble) {
    std::array<std::byte, preamble_size> good;
    Preamble{0x12345}.encode(good, PreambleOrder::number_first);
    const auto refuses = [&](std::size_t at, int value) {
        auto bytes = good;
        bytes[at] = static_cast<std::byte>(value);
        EXPECT_FALSE(Preamble::decode(bytes, PreambleOrder::number_first)) << at;
    };
    refuses(0, 0xFC);
    refuses(1, 0x18);  // not the mark
    refuses(1, 0x55);  // ineligible, but with a number
    refuses(4, 0x54);
    refuses(7, 0xDD);
}

// LLR-25: overhead is 28 bytes with the preamble, and short frames are padded to 64 without it.
TEST(UeWireFormat, AFrameHasTheseBytesAndTheFcsOfEthernet) {
    Pair pair;
    pair.submit(1, 5);
    const Frame frame = pair.frames(pair.a).at(0);
    ASSERT_EQ(frame.bytes.size(), 72U);
    EXPECT_EQ(to_hex(ConstBytes(frame.bytes).first(29)),
              "fbf7fffa555555d5"
              "020000000000020000000000"
              "88b50005"
              "000000001c");
    EXPECT_EQ(load_le<std::uint32_t>(ConstBytes(frame.bytes).last<4>()),
              Crc32::of(ConstBytes(frame.bytes).subspan(8, 60)));
    pair.submit(1, 60);
    EXPECT_EQ(pair.frames(pair.a).at(0).bytes.size(), 60 + frame_overhead);
}

// The known check value of this CRC is that of the nine digits.
TEST(UeWireFormat, TheFcsHasThePublishedCheckValue) {
    const std::string_view digits = "123456789";
    EXPECT_EQ(Crc32::of(std::as_bytes(std::span(digits))), 0xCBF43926U);
}

TEST(UeWireFormat, DescribesEachFrame) {
    EXPECT_EQ(ack(7).name(), "ACK 7");
    EXPECT_EQ(nack(1'048'575).name(), "NACK 1048575");
    EXPECT_EQ(made({CtlType::init, 3, 9}).name(), "INIT 3");
    EXPECT_EQ(made({CtlType::init_echo, 3, 9}).name(), "INIT_ECHO 3");
    EXPECT_EQ(made({CtlType::cf_update}).name(), "CF_UPDATE");
    EXPECT_EQ(Frame{}.name(), "frame");
    EXPECT_EQ((Frame{{8, std::byte{0xFB}}}).name(), "frame");
    Pair pair;
    pair.submit(1);
    EXPECT_EQ(pair.leaving(pair.a), Names{"FRAME 1048570"});
    EXPECT_EQ(pair.a.link.submit_ineligible(message(8)), SubmitStatus::accepted);
    EXPECT_EQ(pair.leaving(pair.a), Names{"PLAIN"});
}

// LLR-25: frames arrive with each setting of what is not public.
TEST(UeWireFormat, AnEndReadsWhatAnEndOfTheSameOrderWrites) {
    for (const auto preamble : {PreambleOrder::mark_first, PreambleOrder::low_first}) {
        Config config = test_config();
        config.preamble = preamble;
        config.ctl_nibbles = NibbleOrder::number_low;
        Pair pair(config);
        pair.submit(20);
        pair.settle();
        pair.expect_all();
        EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
        EXPECT_EQ(pair.a.stats().replays, 0U);
    }
}

}  // namespace
}  // namespace wireproof::ue
