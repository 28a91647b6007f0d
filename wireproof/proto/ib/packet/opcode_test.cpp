#include "wireproof/proto/ib/packet/opcode.hpp"

#include <gtest/gtest.h>

#include <set>

namespace wireproof::proto::ib {
namespace {

// UC-6: UC has exactly these opcodes.
TEST(Opcode, UcHasExactlyTwelve) {
    for (unsigned byte = 0x20; byte < 0x40; ++byte) {
        const Opcode* opcode = find_opcode(static_cast<std::uint8_t>(byte));
        EXPECT_EQ(opcode != nullptr, byte <= 0x2B) << byte;
        if (opcode == nullptr) continue;
        EXPECT_EQ(opcode->transport(), Transport::uc);
    }
}

TEST(Opcode, EachUcOpcodeHasTheMeaningOfTheRcOpcode32Below) {
    for (std::uint8_t byte = 0; byte < 12; ++byte) {
        const Opcode* rc = find_opcode(byte);
        const Opcode* uc = find_opcode(byte + 0x20);
        ASSERT_TRUE(rc != nullptr && uc != nullptr);
        EXPECT_EQ(rc->transport(), Transport::rc);
        EXPECT_EQ(rc->operation(), uc->operation());
        EXPECT_EQ(rc->name, uc->name);
        EXPECT_EQ(rc->part, uc->part);
        EXPECT_EQ(rc->extended, uc->extended);
        EXPECT_EQ(rc->payload, uc->payload);
    }
}

TEST(Opcode, ReservedOnesAndStrangeTransportsHaveNoEntry) {
    std::set<unsigned> known;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const Opcode* opcode = find_opcode(static_cast<std::uint8_t>(byte));
        if (opcode == nullptr) continue;
        EXPECT_EQ(opcode->byte, byte);
        known.insert(byte);
    }
    std::set<unsigned> expected = {0x16, 0x17, 0x64, 0x65, 0x81};
    for (unsigned byte = 0; byte <= 0x14; ++byte) expected.insert(byte);
    for (unsigned byte = 0x20; byte <= 0x2B; ++byte) expected.insert(byte);
    EXPECT_EQ(known, expected);
}

TEST(Opcode, BytesAreTransportAndOperation) {
    EXPECT_EQ(opcode_of(Transport::rc, Operation::acknowledge), 0x11);
    EXPECT_EQ(opcode_of(Transport::uc, Operation::write_only_immediate), 0x2B);
    EXPECT_EQ(opcode_of(Transport::ud, Operation::send_only), 0x64);
    EXPECT_EQ(find_opcode(0x2B)->operation(), Operation::write_only_immediate);
    EXPECT_EQ(name_of(find_opcode(0x81)->transport()), "CNP");
}

TEST(Opcode, ExtendedHeadersHaveTheirLengths) {
    const auto size = [](std::uint8_t byte) { return find_opcode(byte)->extended_size(); };
    EXPECT_EQ(size(0x04), 0U);
    EXPECT_EQ(size(0x05), 4U);   // ImmDt
    EXPECT_EQ(size(0x0A), 16U);  // RETH
    EXPECT_EQ(size(0x0B), 20U);  // RETH, ImmDt
    EXPECT_EQ(size(0x0E), 0U);   // no AETH in the middle
    EXPECT_EQ(size(0x11), 4U);   // AETH
    EXPECT_EQ(size(0x12), 12U);  // AETH, AtomicAckETH
    EXPECT_EQ(size(0x13), 28U);  // AtomicETH
    EXPECT_EQ(size(0x17), 4U);   // IETH
    EXPECT_EQ(size(0x65), 12U);  // DETH, ImmDt
}

TEST(Opcode, APartOfAMessageSaysHowLongItsPayloadMayBe) {
    const auto fits = [](Operation operation, std::size_t bytes) {
        return find_opcode(opcode_of(Transport::rc, operation))->payload_fits(bytes, 256);
    };
    for (const auto whole : {Operation::send_first, Operation::write_middle,
                             Operation::read_response_first, Operation::read_response_middle}) {
        EXPECT_TRUE(fits(whole, 256));
        EXPECT_FALSE(fits(whole, 255));
        EXPECT_FALSE(fits(whole, 257));
    }
    for (const auto last : {Operation::send_last_invalidate, Operation::write_last_immediate,
                            Operation::read_response_last}) {
        EXPECT_FALSE(fits(last, 0));
        EXPECT_TRUE(fits(last, 1));
        EXPECT_TRUE(fits(last, 256));
        EXPECT_FALSE(fits(last, 257));
    }
    for (const auto only :
         {Operation::send_only, Operation::write_only_immediate, Operation::read_response_only}) {
        EXPECT_TRUE(fits(only, 0));
        EXPECT_TRUE(fits(only, 256));
        EXPECT_FALSE(fits(only, 257));
    }
    for (const auto none :
         {Operation::read_request, Operation::acknowledge, Operation::fetch_add}) {
        EXPECT_TRUE(fits(none, 0));
        EXPECT_FALSE(fits(none, 1));
    }
}

TEST(Opcode, FirstAndOnlyBeginAMessageLastAndOnlyEndIt) {
    const auto at = [](Operation operation) {
        return *find_opcode(opcode_of(Transport::rc, operation));
    };
    EXPECT_TRUE(at(Operation::send_first).begins() && !at(Operation::send_first).ends());
    EXPECT_TRUE(!at(Operation::write_middle).begins() && !at(Operation::write_middle).ends());
    EXPECT_TRUE(!at(Operation::send_last_immediate).begins());
    EXPECT_TRUE(at(Operation::send_last_immediate).ends());
    EXPECT_TRUE(at(Operation::fetch_add).begins() && at(Operation::fetch_add).ends());
    EXPECT_TRUE(at(Operation::read_response_middle).is_response());
    EXPECT_FALSE(at(Operation::read_request).is_response());
}

}  // namespace
}  // namespace wireproof::proto::ib
