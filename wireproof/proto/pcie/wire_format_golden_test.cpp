// Bytes and CRCs that other sources computed (docs/rules/pcie.md).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/pcie/wire_format.hpp"

namespace wireproof::pcie {
namespace {

std::vector<std::byte> from_hex(std::string_view text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(
            static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    }
    return bytes;
}

std::string to_hex(ConstBytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[std::to_integer<std::size_t>(byte) >> 4];
        text += digits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

std::uint32_t lcrc_of(std::string_view number_and_tlp) {
    return Crc32::of(from_hex(number_and_tlp));
}

// PCIE-1
TEST(PcieWireFormat, ComputesTheLcrcOfThePublishedTlps) {
    const std::string zeros12(24, '0');
    EXPECT_EQ(lcrc_of("0000" + zeros12), 0xD1BB79C7U);
    EXPECT_EQ(lcrc_of("0001" + zeros12), 0x0C2DA042U);
    EXPECT_EQ(lcrc_of("0fff" + zeros12), 0xBAC14197U);
    EXPECT_EQ(lcrc_of("0000" + zeros12 + "00000000"), 0x671BCF4DU);
    EXPECT_EQ(lcrc_of("0005400000010000000f00001000deadbeef"), 0xE1EABDB2U);
}

// PCIE-1: framing symbols surround the six bytes.
TEST(PcieWireFormat, DllpsAreThePublishedBytes) {
    using enum DllpKind;
    const Credits some{0x20, 0x100};
    const std::vector<std::pair<Dllp, std::string>> vectors = {
        {Dllp::ack(0), "00000000b362"},
        {Dllp::ack(1), "000000011279"},
        {Dllp::ack(42), "0000002afbbc"},
        {Dllp::ack(2047), "000007fff075"},
        {Dllp::ack(2048), "0000080066bf"},
        {Dllp::ack(4095), "00000fff25a8"},
        {Dllp::nak(0), "100000005805"},
        {Dllp::nak(1), "10000001f91e"},
        {Dllp::nak(42), "1000002a10db"},
        {Dllp::nak(4095), "10000fffcecf"},
        {Dllp::flow_control(init_fc1, FlowType::posted, some), "400801004b75"},
        {Dllp::flow_control(init_fc2, FlowType::posted, some), "c0080100310a"},
        {Dllp::flow_control(update_fc, FlowType::posted, some), "800801008c35"},
        {Dllp{0x933FCFFF}, "933fcfff0974"},  // UpdateFC-NP of virtual channel 3
        {Dllp{0x20000000}, "2000000065ad"},  // PM_Enter_L1
        {Dllp{0x24000000}, "24000000930c"},  // PM_Request_Ack
        {Dllp{0x31000000}, "31000000fb32"},  // NOP
        {Dllp{0x02800001}, "028000013156"},  // Data Link Feature
    };
    for (const auto& [dllp, hex] : vectors) {
        std::array<std::byte, Dllp::size> bytes;
        dllp.encode(bytes, true);
        EXPECT_EQ(to_hex(bytes), "5c" + hex + "fd");
        EXPECT_EQ(Dllp::decode(bytes, true), dllp);
    }
}

TEST(PcieWireFormat, FlowControlDllpsGiveTheirFieldsBack) {
    for (const DllpKind kind : {DllpKind::init_fc1, DllpKind::init_fc2, DllpKind::update_fc}) {
        for (const FlowType type : {FlowType::posted, FlowType::non_posted, FlowType::completion}) {
            const Dllp dllp = Dllp::flow_control(kind, type, {0xFF, 0xFFF});
            EXPECT_EQ(dllp.flow_control_kind(), kind);
            EXPECT_EQ(dllp.flow_type(), type);
            EXPECT_EQ(dllp.credits(), (Credits{0xFF, 0xFFF}));
        }
    }
    for (const std::uint32_t other : {0x00U, 0x10U, 0x20U, 0x31U, 0x41U, 0x70U, 0xF0U}) {
        EXPECT_EQ((Dllp{other << 24}.flow_control_kind()), std::nullopt) << other;
    }
}

std::vector<std::byte> tlp_frame(std::uint32_t number, ConstBytes message, bool nullified = false) {
    const TlpHead head{number, FlowType::posted, message.size()};
    std::vector<std::byte> frame(head.frame_size());
    const auto front = Bytes(frame).first<TlpHead::size>();
    head.encode(front);
    std::copy(message.begin(), message.end(), frame.begin() + TlpHead::size);
    encode_tail(front, message, Bytes(frame).subspan(TlpHead::size + message.size()), nullified,
                true);
    return frame;
}

TEST(PcieWireFormat, TheLargestTlpHas28BytesOfOverhead) {
    EXPECT_EQ(tlp_frame(0, std::vector<std::byte>(4096)).size(), 4124U);
    EXPECT_EQ(Dllp::size, 8U);
}

TEST(PcieWireFormat, EveryLengthOfAMessageIsStatedExactly) {
    for (std::size_t length = 0; length <= 4096; ++length) {
        std::array<std::byte, TlpHead::size> bytes;
        TlpHead{4095, FlowType::non_posted, length}.encode(bytes);
        const auto head = TlpHead::decode(bytes);
        ASSERT_TRUE(head) << length;
        EXPECT_EQ(head->length, length);
        EXPECT_EQ(head->number, 4095U);
        EXPECT_EQ(head->type, FlowType::non_posted);
        EXPECT_EQ(head->frame_size() % 4, 0U);
    }
}

bool good(ConstBytes frame) {
    const auto tlp = TlpPieces::of(RxFrame{.bytes = frame});
    return tlp && tlp->ends_good() && tlp->stored_lcrc() == tlp->computed_lcrc();
}

// PCIE-2: a CRC of 32 bits with this polynomial detects each pair of bit errors in a TLP.
TEST(PcieWireFormat, EverySingleAndDoubleBitErrorInATlpIsCaught) {
    const std::vector<std::byte> message(8, std::byte{0xC5});
    std::vector<std::byte> frame = tlp_frame(4095, message);
    ASSERT_TRUE(good(frame));
    const auto flip = [&](std::size_t bit) { frame[bit / 8] ^= std::byte(1U << (bit % 8)); };
    for (std::size_t first = 8; first < 8 * frame.size(); ++first) {
        flip(first);
        EXPECT_FALSE(good(frame)) << first;
        for (std::size_t second = first + 1; second < 8 * frame.size(); ++second) {
            flip(second);
            ASSERT_FALSE(good(frame)) << first << " " << second;
            flip(second);
        }
        flip(first);
    }
}

// PCIE-2
TEST(PcieWireFormat, EverySingleAndDoubleBitErrorInADllpIsCaught) {
    std::array<std::byte, Dllp::size> bytes;
    Dllp::nak(4095).encode(bytes, true);
    const auto flip = [&](std::size_t bit) { bytes[bit / 8] ^= std::byte(1U << (bit % 8)); };
    for (std::size_t first = 0; first < 64; ++first) {
        flip(first);
        EXPECT_EQ(Dllp::decode(bytes, true), std::nullopt) << first;
        for (std::size_t second = first + 1; second < 64; ++second) {
            flip(second);
            EXPECT_EQ(Dllp::decode(bytes, true), std::nullopt) << first << " " << second;
            flip(second);
        }
        flip(first);
    }
}

TEST(PcieWireFormat, ANullifiedTlpHasItsLcrcInverted) {
    const std::vector<std::byte> frame = tlp_frame(7, std::vector<std::byte>(5), true);
    const auto tlp = TlpPieces::of(RxFrame{.bytes = frame});
    ASSERT_TRUE(tlp);
    EXPECT_TRUE(tlp->ends_bad());
    EXPECT_EQ(tlp->stored_lcrc(), ~tlp->computed_lcrc());
    EXPECT_EQ(describe(frame).kind, "nullified TLP");
}

TEST(PcieWireFormat, DataCarriedByReferenceIsCheckedLikeDataInTheFrame) {
    const std::vector<std::byte> message(13, std::byte{0x77});
    const std::vector<std::byte> whole = tlp_frame(9, message);
    std::vector<std::byte> rest(whole.begin(), whole.begin() + TlpHead::size);
    rest.insert(rest.end(), whole.begin() + TlpHead::size + 13, whole.end());
    const auto tlp =
        TlpPieces::of(RxFrame{.bytes = rest, .lent = message, .lent_at = TlpHead::size});
    ASSERT_TRUE(tlp);
    EXPECT_EQ(tlp->stored_lcrc(), tlp->computed_lcrc());
    EXPECT_TRUE(tlp->ecrc_matches());
}

TEST(PcieWireFormat, DescribesWhatItKnowsAndNothingElse) {
    EXPECT_EQ(describe(tlp_frame(4095, {})).kind, "TLP");
    EXPECT_EQ(describe(tlp_frame(4095, {})).number, 4095U);
    std::array<std::byte, Dllp::size> bytes;
    Dllp::flow_control(DllpKind::update_fc, FlowType::posted, {}).encode(bytes, true);
    EXPECT_EQ(describe(bytes).kind, "UpdateFC-P");
    EXPECT_EQ(describe(ConstBytes(bytes).first(5)).kind, "frame");
    EXPECT_EQ(describe({}).kind, "frame");
}

}  // namespace
}  // namespace wireproof::pcie
