// The bits of the control word, and which damage the two checks detect.
#include "wireproof/proto/hippi/wire_format.hpp"

#include <gtest/gtest.h>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/hippi/pair_test_kit.hpp"

namespace wireproof::hippi::test {
namespace {

// HIPPI-2
TEST(HippiWireFormat, PutsEveryFieldOfTheControlWordWhereTheTableSays) {
    const Control control{.channel = 2,
                          .type = Type::credit,
                          .tail = true,
                          .error = false,
                          .credit_channel = 3,
                          .credits = 0x2A,
                          .tseq = 0x12,
                          .rseq = 0x34,
                          .ecrc = 0x5678,
                          .lcrc = 0x9ABC};
    std::array<std::byte, control_size> bytes{};
    control.encode(bytes);
    const std::array<unsigned, control_size> expected{0b10'0011'1'0, 0b11'101010, 0x12, 0x34,
                                                      0x56,          0x78,        0x9A, 0xBC};
    for (std::size_t i = 0; i < control_size; ++i) {
        EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), expected[i]) << i;
    }
    EXPECT_EQ(Control::decode(bytes), control);
}

// HIPPI-2
TEST(HippiWireFormat, ReadsBackEveryControlWordThatCanBeWritten) {
    Random random(7);
    for (int i = 0; i < 10'000; ++i) {
        std::array<std::byte, control_size> bytes{};
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
        const auto control = Control::decode(bytes);
        if (!control) continue;
        std::array<std::byte, control_size> again{};
        control->encode(again);
        EXPECT_EQ(again, bytes);
    }
}

// HIPPI-4
TEST(HippiWireFormat, RefusesANumberedUnitWithoutANumberAndANullWithOne) {
    std::array<std::byte, control_size> bytes{};
    for (const Type type : {Type::header, Type::data, Type::credit, Type::admin}) {
        Control{.type = type, .tseq = no_number}.encode(bytes);
        EXPECT_FALSE(Control::decode(bytes));
    }
    for (const Type type : {Type::null, Type::status_null, Type::init, Type::reset_ack}) {
        Control{.type = type, .tseq = 7}.encode(bytes);
        EXPECT_FALSE(Control::decode(bytes));
    }
    for (const unsigned type : {6U, 7U, 12U, 15U}) {
        Control{.type = static_cast<Type>(type)}.encode(bytes);
        EXPECT_FALSE(Control::decode(bytes));
    }
}

// HIPPI-3
TEST(HippiWireFormat, TheLinkCheckCatchesEveryDamageOfOneBitAndEveryBurstOfSixteen) {
    const Frame unit = forged({.bytes = message(3, unit_size)}, [](Control& control) {
        control = {.type = Type::data, .tseq = 5, .ecrc = 0x1234};
    });
    const auto whole = [](const Message& bytes) {
        const auto control = ConstBytes(bytes).last<control_size>();
        return stored_lcrc(control) == lcrc(ConstBytes(bytes).first<data_size>(), control);
    };
    ASSERT_TRUE(whole(unit.bytes));
    for (std::size_t bit = 0; bit < unit_size * 8; ++bit) {
        for (const std::size_t length : {std::size_t{1}, std::size_t{2}, std::size_t{16}}) {
            Message bytes = unit.bytes;
            for (std::size_t i = bit; i < std::min(bit + length, unit_size * 8); ++i) {
                bytes[i / 8] ^= std::byte(1U << (i % 8));
            }
            EXPECT_FALSE(whole(bytes)) << bit << " " << length;
        }
    }
}

TEST(HippiWireFormat, TheLinkCheckIsThatOfDataAndControlWordWithItsOwnFieldZero) {
    const Frame unit = forged({.bytes = message(9, unit_size)}, [](Control& control) {
        control = {.type = Type::data, .tseq = 250, .rseq = 3, .ecrc = 0xBEEF};
    });
    Message zeroed = unit.bytes;
    zeroed[38] = zeroed[39] = std::byte{0};
    EXPECT_EQ(unit.control().lcrc, Crc16Iba::bitwise(zeroed));
}

TEST(HippiWireFormat, ReadsBackBodies) {
    std::array<std::byte, data_size> bytes{};
    const StartBody start{
        .epoch = 0x1122334455667788, .echo = 9, .terms = 8, .credits = {1, 2, 3, 65'535}};
    start.encode(bytes);
    const StartBody again = StartBody::decode(bytes);
    EXPECT_EQ(again.epoch, start.epoch);
    EXPECT_EQ(again.echo, start.echo);
    EXPECT_EQ(again.terms, start.terms);
    EXPECT_EQ(again.credits, start.credits);
    HeaderBody{.length = 77}.encode(bytes);
    EXPECT_EQ(HeaderBody::decode(bytes)->length, 77);
    bytes[31] = std::byte{1};
    EXPECT_FALSE(HeaderBody::decode(bytes));
}

TEST(HippiWireFormat, DescribesFramesForTracesAndScripts) {
    const FrameInfo data = describe(made(Type::data, 250, 7).bytes);
    EXPECT_EQ(data.kind, "data");
    EXPECT_EQ(data.number, 250);
    EXPECT_EQ(data.ack, 7);
    EXPECT_EQ(data.length, unit_size);
    const FrameInfo null = describe(made(Type::status_null, no_number, 9).bytes);
    EXPECT_EQ(null.kind, "status null");
    EXPECT_EQ(null.number, 9);
    const FrameInfo init = describe(made(Type::init, no_number).bytes);
    EXPECT_EQ(init.kind, "init");
    EXPECT_FALSE(init.number || init.ack);
    EXPECT_EQ(describe(message(1, 39)).kind, "frame");
    EXPECT_EQ(describe({}).kind, "frame");
    EXPECT_EQ(describe(ConstBytes(made(Type::data, 1).bytes).last(control_size)).kind, "data");
}

}  // namespace
}  // namespace wireproof::hippi::test
