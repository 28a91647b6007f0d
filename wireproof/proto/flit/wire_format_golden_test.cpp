// The bytes of flits: where the parts are, header bits, checks, lengths, names.
#include <gtest/gtest.h>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/flit/config.hpp"
#include "wireproof/proto/flit/wire_format.hpp"

namespace wireproof::flit {
namespace {

constexpr std::array formats = {Format::pcie, Format::cxl, Format::ucie_68, Format::ucie_256};

std::vector<std::byte> flit_of(Format format, const Header& header, std::size_t length,
                               bool check = true, CrcOrder order = CrcOrder::last_byte_first) {
    std::vector<std::byte> message(length);
    for (std::size_t i = 0; i < length; ++i) message[i] = static_cast<std::byte>(0xA0 + i);
    std::vector<std::byte> room(flit_max);
    TxFrame out;
    out.open(room, {.frame_max = flit_max, .carries_intact = !check});
    write_flit(format, order, header, message, out);
    std::vector<std::byte> flit(out.size());
    out.gather(flit);
    return flit;
}

std::string golden_hex(ConstBytes bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<unsigned>(byte) >> 4];
        text += digits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

// FLIT-1
TEST(FlitWireFormat, APcieFlitHasDataThenDlpThenChecks) {
    const auto flit = flit_of(Format::pcie, {true, true, Command::ack, 0x2A5}, 3);
    ASSERT_EQ(flit.size(), 256U);
    const ConstBytes bytes(flit);
    EXPECT_EQ(golden_hex(bytes.first(5)), "a0a1a20000");
    EXPECT_EQ(golden_hex(bytes.subspan(234, 8)), "000366a500000000");
    EXPECT_EQ(load_le<std::uint64_t>(bytes.subspan<242, 8>()),
              __builtin_bswap64(flit_crc(bytes.first(242), CrcOrder::last_byte_first)));
}

// FLIT-1: the DLP bits.
TEST(FlitWireFormat, ThePcieHeaderHasItsBitsWhereTheTableSays) {
    const auto header = [](const Header& written) {
        std::array<std::byte, 6> bytes;
        bytes.fill(std::byte{0xEE});
        written.encode(Format::pcie, bytes.data());
        return golden_hex(ConstBytes(bytes).first(2));
    };
    EXPECT_EQ(header({false, false, Command::explicit_number, 0}), "0000");
    EXPECT_EQ(header({true, false, Command::explicit_number, 1}), "4001");
    EXPECT_EQ(header({false, true, Command::ack, 1023}), "27ff");
    EXPECT_EQ(header({false, false, Command::standard_nak, 0x155}), "0955");
    EXPECT_EQ(header({true, true, Command::selective_nak, 0x200}), "6e00");
}

// UCIE-7
TEST(FlitWireFormat, TheUcieHeaderSplitsTheNumber) {
    const auto header = [](const Header& written) {
        std::array<std::byte, 2> bytes;
        written.encode(Format::ucie_68, bytes.data());
        return golden_hex(bytes);
    };
    EXPECT_EQ(header({false, false, Command::explicit_number, 0x5A}), "050a");
    EXPECT_EQ(header({true, false, Command::ack, 0xFF}), "4f1f");
    EXPECT_EQ(header({true, false, Command::standard_nak, 0x01}), "4021");
}

// FLIT-1, UCIE-7
TEST(FlitWireFormat, ReadsBackEveryHeaderAndRefusesReservedValues) {
    for (const Format format : formats) {
        for (unsigned first = 0; first < 256; ++first) {
            for (unsigned second = 0; second < 256; ++second) {
                const std::array from = {static_cast<std::byte>(first),
                                         static_cast<std::byte>(second)};
                const auto header = Header::decode(format, from.data());
                const bool reserved =
                    has_usage(format) ? first >= 0x80 : first >= 0x80 || (second >> 4 & 3) == 3;
                ASSERT_EQ(header.has_value(), !reserved) << first << " " << second;
                if (!header) continue;
                std::array<std::byte, 6> to;
                header->encode(format, to.data());
                ASSERT_EQ(Header::decode(format, to.data()), header);
            }
        }
    }
}

// UCIE-9
TEST(FlitWireFormat, AUcieFlitOf68BytesHasHeaderDataAndCrc) {
    const auto flit = flit_of(Format::ucie_68, {true, false, Command::ack, 0x21}, 2);
    ASSERT_EQ(flit.size(), 68U);
    const ConstBytes bytes(flit);
    EXPECT_EQ(golden_hex(bytes.first(6)), "4211a0a10000");
    EXPECT_EQ(bytes[65], std::byte{2});
    EXPECT_EQ(load_le<std::uint16_t>(bytes.last<2>()),
              ucie_crc(bytes.first(66), CrcOrder::last_byte_first));
}

// UCIE-9
TEST(FlitWireFormat, AUcieFlitOf256BytesHasACrcForEachHalf) {
    const auto flit = flit_of(Format::ucie_256, {true, false, Command::ack, 0x21}, 239);
    ASSERT_EQ(flit.size(), 256U);
    const ConstBytes bytes(flit);
    EXPECT_EQ(bytes[241], std::byte{239});
    EXPECT_EQ(load_le<std::uint16_t>(bytes.subspan<252, 2>()),
              ucie_crc(bytes.first(128), CrcOrder::last_byte_first));
    EXPECT_EQ(load_le<std::uint16_t>(bytes.last<2>()),
              ucie_crc(bytes.subspan(128, 124), CrcOrder::last_byte_first));
    for (std::size_t at = 0; at < 256; ++at) {
        auto damaged = flit;
        damaged[at] ^= std::byte{0x10};
        EXPECT_EQ(crc_matches(Format::ucie_256, CrcOrder::last_byte_first, damaged), at >= 256)
            << at;
    }
}

// FLIT-1: the header of CXL is in front and is covered by the same checks.
TEST(FlitWireFormat, ACxlFlitHas240BytesOfData) {
    const auto flit = flit_of(Format::cxl, {true, false, Command::explicit_number, 0x123}, 239);
    const ConstBytes bytes(flit);
    EXPECT_EQ(golden_hex(bytes.first(3)), "4123a0");
    EXPECT_EQ(bytes[241], std::byte{239});
    EXPECT_EQ(load_le<std::uint64_t>(bytes.subspan<242, 8>()),
              __builtin_bswap64(flit_crc(bytes.first(242), CrcOrder::last_byte_first)));
}

// FLIT-1
TEST(FlitWireFormat, BothOrdersOfTheCrcCheckThemselvesOnly) {
    for (const Format format : formats) {
        const auto flit =
            flit_of(format, {true, false, Command::ack, 7}, 9, true, CrcOrder::first_byte_first);
        EXPECT_TRUE(crc_matches(format, CrcOrder::first_byte_first, flit));
        EXPECT_FALSE(crc_matches(format, CrcOrder::last_byte_first, flit));
    }
}

// FLIT-5: any length up to the largest comes back exactly, in one piece or lent.
TEST(FlitWireFormat, EachLengthIsExact) {
    for (const Format format : formats) {
        const Shape shape = Shape::of(format);
        for (std::size_t length = 0; length < shape.data_size; ++length) {
            const auto flit = flit_of(format, {true, false, Command::ack, 7}, length, false);
            ASSERT_EQ(flit.size(), shape.size);
            const auto whole = FlitPieces::of(format, RxFrame{.bytes = flit});
            ASSERT_TRUE(whole && whole->message);
            EXPECT_EQ(whole->message->size(), length);
            EXPECT_EQ(Header::decode(format, whole->header),
                      (Header{true, false, Command::ack, 7}));
            if (length == 0) continue;
            // The message is taken out, as a cable carries it by reference.
            auto rest = flit;
            const auto at = rest.begin() + static_cast<std::ptrdiff_t>(shape.data_at);
            const std::vector<std::byte> lent(at, at + static_cast<std::ptrdiff_t>(length));
            rest.erase(at, at + static_cast<std::ptrdiff_t>(length));
            RxFrame frame{.bytes = rest, .lent = lent, .lent_at = shape.data_at};
            const auto apart = FlitPieces::of(format, frame);
            ASSERT_TRUE(apart && apart->message);
            EXPECT_EQ(apart->message->data(), lent.data());
            EXPECT_EQ(Header::decode(format, apart->header),
                      (Header{true, false, Command::ack, 7}));
            frame.lent_at += 1;
            EXPECT_FALSE(FlitPieces::of(format, frame));
        }
    }
}

TEST(FlitWireFormat, ALengthThatDoesNotFitIsNoMessage) {
    for (const Format format : formats) {
        const Shape shape = Shape::of(format);
        auto flit = flit_of(format, {true, false, Command::ack, 7}, 5, false);
        flit[shape.data_end() - 1] = static_cast<std::byte>(shape.data_size);
        const auto pieces = FlitPieces::of(format, RxFrame{.bytes = flit});
        ASSERT_TRUE(pieces);
        EXPECT_FALSE(pieces->message);
        flit.pop_back();
        EXPECT_FALSE(FlitPieces::of(format, RxFrame{.bytes = flit}));
    }
}

TEST(FlitWireFormat, DescribesFlitsByUsageAndCommand) {
    const auto name = [](Format format, const Header& header, std::size_t length) {
        const auto flit = flit_of(format, header, length);
        const FrameInfo info = describe_of(format)(flit);
        EXPECT_EQ(info.length, flit.size());
        return std::string(info.kind) + (info.number ? " " + std::to_string(*info.number) : "") +
               (info.ack ? " ack " + std::to_string(*info.ack) : "");
    };
    for (const Format format : formats) {
        EXPECT_EQ(name(format, {true, false, Command::explicit_number, 200}, 8), "payload 200");
        EXPECT_EQ(name(format, {true, false, Command::ack, 7}, 8), "payload ack 7");
        EXPECT_EQ(name(format, {false, false, Command::standard_nak, 7}, 0), "NOP+Nak ack 7");
        EXPECT_EQ(name(format, {false, false, Command::explicit_number, 7}, 0), "NOP 7");
        EXPECT_EQ(name(format, {false, false, Command::explicit_number, 0}, 0), "IDLE");
    }
    EXPECT_EQ(name(Format::pcie, {true, false, Command::selective_nak, 1000}, 8),
              "payload+SNak ack 1000");
    EXPECT_EQ(describe({}).kind, "frame");
    EXPECT_EQ(describe(std::vector<std::byte>(257)).kind, "frame");
    EXPECT_EQ(describe(std::vector<std::byte>(256, std::byte{0xFF})).kind, "frame");
}

TEST(FlitConfig, TheNamedOnesWork) {
    for (const Config& config :
         {Config::pcie6(), Config::pcie6_selective(), Config::cxl3(), Config::ucie_68(),
          Config::ucie_256(), Config::of_datagrams(1400), Config::of_datagrams(100)}) {
        EXPECT_TRUE(config.check()) << config.check().error().message;
    }
    EXPECT_EQ(Config::pcie6().message_max(), 235U);
    EXPECT_EQ(Config::cxl3().message_max(), 239U);
    EXPECT_EQ(Config::ucie_68().message_max(), 63U);
    EXPECT_EQ(Config::ucie_256().message_max(), 239U);
    EXPECT_EQ(Config::of_datagrams(100).message_max(), 63U);
}

// FLIT-4, UCIE-1, UCIE-2, FLIT-21
TEST(FlitConfig, RefusesWhatCannotWork) {
    const auto error = [](auto change, Config config = Config::pcie6()) {
        change(config);
        const auto checked = config.check();
        return checked ? std::string("none") : checked.error().message;
    };
    EXPECT_EQ(error([](Config& c) { c.outstanding = 512; }),
              "unacknowledged flits is 512, and must be 1 to 511");
    EXPECT_EQ(error([](Config& c) { c.outstanding = 511; }), "none");
    EXPECT_NE(error([](Config& c) { c.modulus = 1024; }), "none");
    EXPECT_NE(error([](Config& c) { c.modulus = 1025; }), "none");
    EXPECT_NE(error([](Config& c) { c.modulus = 257; }, Config::ucie_68()), "none");
    EXPECT_NE(error([](Config& c) { c.first_number = 0; }), "none");
    EXPECT_NE(error([](Config& c) { c.first_number = 1024; }), "none");
    EXPECT_NE(error([](Config& c) { c.withdraws = true; }, Config::ucie_68()), "none");
    EXPECT_NE(error([](Config& c) { c.selective = true; }, Config::ucie_68()), "none");
    EXPECT_NE(error([](Config& c) { c.withdraws = false; }, Config::pcie6_selective()), "none");
    EXPECT_NE(error([](Config& c) { c.explicit_after_jump = 1; }, Config::pcie6_selective()),
              "none");
    EXPECT_NE(error([](Config& c) { c.explicit_run = 0; }), "none");
    EXPECT_NE(error([](Config& c) { c.nak_run = 0; }), "none");
    EXPECT_NE(error([](Config& c) { c.timeout_flits = 0; }), "none");
    EXPECT_NE(error([](Config& c) { c.start_acks = 0; }), "none");
    EXPECT_NE(error([](Config& c) { c.start_flits_max = 12; }), "none");
    EXPECT_NE(error([](Config& c) { c.backs_off = true; }), "none");
    EXPECT_NE(error([](Config& c) { c.flit_time = Duration(); }, Config::of_datagrams(1400)),
              "none");
}

}  // namespace
}  // namespace wireproof::flit
