// CRCs, flits and training sets against published vectors and against long division.
#include <gtest/gtest.h>

#include <bitset>
#include <map>
#include <set>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/cxl/wire_format.hpp"

namespace wireproof::cxl {
namespace {

// flit(x) x^16 mod 1F053, one bit after the other, bit 511 first.
std::uint16_t long_division(FlitData data) {
    std::uint32_t rest = 0;
    const auto feed = [&rest](std::uint32_t bit) {
        rest = rest << 1 | bit;
        if ((rest & 0x10000U) != 0) rest ^= 0x1F053U;
    };
    for (std::size_t bit = 8 * data_size; bit-- > 0;) {
        feed(std::to_integer<std::uint32_t>(data[bit / 8] >> (bit % 8)) & 1);
    }
    for (int i = 0; i < 16; ++i) feed(0);
    return static_cast<std::uint16_t>(rest);
}

FlitBytes with(std::size_t at, std::uint8_t value) {
    FlitBytes data{};
    data[at] = static_cast<std::byte>(value);
    return data;
}

// What a wrong bit does to data and CRC: the CRC of the data changes, or the received one does.
std::vector<std::uint16_t> columns() {
    std::vector<std::uint16_t> columns;
    for (std::size_t bit = 0; bit < 8 * data_size; ++bit) {
        columns.push_back(flit_crc(with(bit / 8, static_cast<std::uint8_t>(1U << (bit % 8)))));
    }
    for (unsigned bit = 0; bit < 16; ++bit) {
        columns.push_back(static_cast<std::uint16_t>(1U << bit));
    }
    return columns;
}

// CXL-1
TEST(CxlWireFormat, TheCrcIsThePublishedOne) {
    FlitBytes ones;
    ones.fill(std::byte{0xFF});
    FlitBytes ramp;
    for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<std::byte>(i);
    EXPECT_EQ(flit_crc(FlitBytes{}), 0);
    EXPECT_EQ(flit_crc(ones), 0x7856);
    EXPECT_EQ(flit_crc(with(0, 0x01)), 0xF053);
    EXPECT_EQ(flit_crc(with(63, 0x80)), 0xC47D);
    EXPECT_EQ(flit_crc(ramp), 0xABF7);
}

// CXL-1: the columns of the published masks. The CRC is linear, so they say all.
TEST(CxlWireFormat, All512ColumnsOfTheCrcEqualALongDivision) {
    std::set<std::uint16_t> different;
    for (std::size_t bit = 0; bit < 8 * data_size; ++bit) {
        const FlitBytes data = with(bit / 8, static_cast<std::uint8_t>(1U << (bit % 8)));
        EXPECT_EQ(flit_crc(data), long_division(data)) << bit;
        different.insert(flit_crc(data));
    }
    EXPECT_EQ(different.size(), 512U);
}

TEST(CxlWireFormat, TheCrcOfRandomDataEqualsALongDivision) {
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
        FlitBytes data;
        for (std::byte& byte : data) byte = static_cast<std::byte>(random.below(256));
        ASSERT_EQ(flit_crc(data), long_division(data));
    }
}

// CXL-1: over the 528 bits of data and CRC.
TEST(CxlWireFormat, EveryErrorOfOneTwoOrThreeBitsIsDetected) {
    const std::vector<std::uint16_t> all = columns();
    ASSERT_EQ(all.size(), 528U);
    std::bitset<65536> later;  // the columns after the second wrong bit
    for (const std::uint16_t column : all) later.set(column);
    EXPECT_FALSE(later.test(0));
    EXPECT_EQ(later.count(), 528U) << "two columns are equal";
    for (std::size_t second = 0; second < all.size(); ++second) {
        later.reset(all[second]);
        for (std::size_t first = 0; first < second; ++first) {
            ASSERT_FALSE(later.test(all[first] ^ all[second])) << first << " " << second;
        }
    }
}

// CXL-1. A set of four columns whose sum is zero consists of two pairs with the same sum, in three
// ways.
TEST(CxlWireFormat, ACountedNumberOfErrorsOfFourBitsIsNotDetected) {
    const std::vector<std::uint16_t> all = columns();
    std::vector<std::uint64_t> pairs(65536);
    for (std::size_t second = 0; second < all.size(); ++second) {
        for (std::size_t first = 0; first < second; ++first) ++pairs[all[first] ^ all[second]];
    }
    std::uint64_t undetected = 0;
    for (const std::uint64_t count : pairs) undetected += count * (count - 1) / 2;
    EXPECT_EQ(undetected / 3, 42'316U);
}

std::array<std::uint8_t, 16> head(const FlitBytes& data) {
    std::array<std::uint8_t, 16> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(data[i]);
    return bytes;
}

// CXL-1, CXL-15
TEST(CxlWireFormat, RetryFlitsAreThePublishedBytes) {
    using Head = std::array<std::uint8_t, 16>;
    EXPECT_EQ(head(idle_flit()), (Head{0x01, 0, 0, 0, 0x01}));
    EXPECT_EQ(flit_crc(idle_flit()), 0xC341);
    const FlitBytes request = RetryRequest{.eseq = 5, .num_retry = 1}.encode();
    EXPECT_EQ(head(request), (Head{0x01, 0, 0, 0, 0x11, 0, 0, 0, 0x05, 0, 0x01}));
    EXPECT_EQ(flit_crc(request), 0xBE8F);
    const FlitBytes ack = RetryAck{.empty = true, .num_retry = 2}.encode();
    EXPECT_EQ(head(ack), (Head{0x01, 0, 0, 0, 0x21, 0, 0, 0, 0x11}));
    EXPECT_EQ(flit_crc(ack), 0xA3DE);
    // Each further field alone in its bits: Viral, NUM_RETRY 21, WrPtr, Eseq, NumFreeBuf; the LD
    // vector is 0. In a request: NUM_PHY_REINIT 19.
    const FlitBytes full =
        RetryAck{.viral = true, .num_retry = 21, .wr_ptr = 0x5C, .eseq = 0x3B, .num_free_buf = 0x77}
            .encode();
    EXPECT_EQ(head(full), (Head{0x01, 0, 0, 0, 0x21, 0, 0, 0, 0xAA, 0x5C, 0x3B, 0x77}));
    EXPECT_EQ(flit_crc(full), long_division(full));
    EXPECT_EQ(head(RetryRequest{.eseq = 0x3B, .num_retry = 1, .num_phy_reinit = 19}.encode()),
              (Head{0x01, 0, 0, 0, 0x11, 0, 0, 0, 0x3B, 0, 0x61, 0x02}));
    EXPECT_EQ(head(frame_flit()), (Head{0x01, 0, 0, 0, 0x31}));
    EXPECT_EQ(flit_crc(frame_flit()), 0x4198);
}

// CXL-15
TEST(CxlWireFormat, RequestsAndAcksAreReadAsTheyWereWritten) {
    for (std::uint32_t i = 0; i < 256; ++i) {
        const RetryRequest request{i, i % 32, (i * 7) % 32};
        EXPECT_EQ(RetryRequest::decode(request.encode()), request);
        EXPECT_EQ(kind_of(request.encode()), FlitKind::request);
        const RetryAck ack{i % 2 == 0, i % 3 == 0, i % 32, 255 - i, i, (i * 5) % 256};
        EXPECT_EQ(RetryAck::decode(ack.encode()), ack);
        EXPECT_EQ(kind_of(ack.encode()), FlitKind::ack);
        EXPECT_EQ(wrap_in(init_flit(i)), i);
        EXPECT_EQ(kind_of(init_flit(i)), FlitKind::init);
    }
}

// CXL-18: the Ak bit is one of the bits of the count.
TEST(CxlWireFormat, AnLlcrdCarriesUpTo255Acknowledgements) {
    for (std::uint32_t acks = 0; acks <= acks_max; ++acks) {
        EXPECT_EQ(kind_of(llcrd_flit(acks)), FlitKind::llcrd);
        EXPECT_EQ(acks_in(llcrd_flit(acks)), acks);
    }
    EXPECT_EQ(head(llcrd_flit(0xFF))[0], 0x09);
    EXPECT_EQ(head(llcrd_flit(0xFF))[8], 0xF7);
    EXPECT_EQ(acks_in(message_flit({}, true)), 8U);
    EXPECT_EQ(acks_in(message_flit({}, false)), 0U);
    EXPECT_EQ(acks_in(idle_flit()), 0U);
}

// CXL-15
TEST(CxlWireFormat, AMessageOfEachLengthIsExact) {
    std::array<std::byte, message_room> bytes;
    bytes.fill(std::byte{0xA5});
    for (std::size_t length = 0; length <= message_room; ++length) {
        const FlitBytes flit = message_flit(ConstBytes(bytes).first(length), length % 2 == 0);
        EXPECT_EQ(kind_of(flit), FlitKind::message);
        const auto message = message_in(flit);
        ASSERT_TRUE(message);
        EXPECT_EQ(std::vector(message->begin(), message->end()),
                  std::vector(bytes.begin(), bytes.begin() + static_cast<long>(length)));
    }
    FlitBytes flit = message_flit({}, false);
    flit[1] = std::byte{61};
    EXPECT_FALSE(message_in(flit));
}

std::vector<std::byte> on_the_wire(const FlitBytes& flit, bool checks = true) {
    std::vector<std::byte> bytes(flit_size);
    write_flit(flit, checks, std::span(bytes).first<flit_size>());
    return bytes;
}

// CXL-24: what is not a whole flit is a damaged one.
TEST(CxlWireFormat, OnlyAWholeFlitWithItsCrcAndProtocolIdIsRead) {
    const std::vector<std::byte> good = on_the_wire(idle_flit());
    EXPECT_EQ(good.size(), 68U);
    EXPECT_TRUE(read_flit({.bytes = good}));
    EXPECT_EQ(good[66], std::byte{0x41});
    EXPECT_EQ(good[67], std::byte{0xC3});
    for (std::size_t bit = 0; bit < 8 * flit_size; ++bit) {
        std::vector<std::byte> bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        EXPECT_FALSE(read_flit({.bytes = bad})) << bit;
    }
    EXPECT_FALSE(read_flit({.bytes = ConstBytes(good).first(67)}));
    EXPECT_FALSE(read_flit({}));
    EXPECT_FALSE(read_flit({.bytes = good, .lent = good}));
    EXPECT_FALSE(read_flit({.bytes = good, .integrity = Integrity::damaged}));
    const std::vector<std::byte> unchecked = on_the_wire(idle_flit(), false);
    EXPECT_FALSE(read_flit({.bytes = unchecked}));
    EXPECT_TRUE(read_flit({.bytes = unchecked, .integrity = Integrity::intact}));
}

// CXL-20
TEST(CxlWireFormat, ATrainingSetIsRead) {
    std::array<std::byte, TrainingSet::size> bytes;
    for (unsigned flags = 0; flags < 16; ++flags) {
        const TrainingSet set{.fresh = (flags & 1) != 0,
                              .heard = (flags & 2) != 0,
                              .done = (flags & 4) != 0,
                              .own = 0xBC,
                              .peers = 0x01,
                              .down = (flags & 8) != 0};
        set.encode(bytes);
        EXPECT_EQ(bytes[1], static_cast<std::byte>(flags));
        EXPECT_EQ(TrainingSet::decode(bytes), set);
    }
    // BC, fresh and heard, own 1, peer 67, and a CRC-32C computed bit by bit.
    TrainingSet{.fresh = true, .heard = true, .own = 1, .peers = 67}.encode(bytes);
    const std::array<unsigned, TrainingSet::size> wanted = {0xBC, 0x03, 0x01, 0x43,
                                                            0x17, 0xC3, 0x47, 0x02};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), wanted[i]) << i;
    }
    EXPECT_FALSE(TrainingSet::decode(on_the_wire(idle_flit())));
}

// CXL-20: no training set with up to four wrong bits is read as another one. The CRC is linear, so
// one set stands for all.
TEST(CxlWireFormat, ATrainingSetWithUpToFourWrongBitsIsNoTrainingSet) {
    std::array<std::byte, TrainingSet::size> bytes;
    TrainingSet{.fresh = true, .heard = true, .own = 0xBC, .peers = 0x01}.encode(bytes);
    const auto flip = [&](std::size_t bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    };
    std::uint64_t read = 0;
    const auto spoil = [&](auto&& again, std::size_t first, int left) -> void {
        for (std::size_t bit = first; bit < 8 * bytes.size(); ++bit) {
            flip(bit);
            read += TrainingSet::decode(bytes) ? 1U : 0U;
            if (left > 1) again(again, bit + 1, left - 1);
            flip(bit);
        }
    };
    spoil(spoil, 0, 4);
    EXPECT_EQ(read, 0U);
}

TEST(CxlWireFormat, DescribesEachFrame) {
    const auto kind = [](const FlitBytes& flit) { return describe(on_the_wire(flit)).kind; };
    EXPECT_EQ(kind(message_flit({}, false)), "data");
    EXPECT_EQ(kind(llcrd_flit(3)), "LLCRD");
    EXPECT_EQ(kind(idle_flit()), "RETRY.Idle");
    EXPECT_EQ(kind(frame_flit()), "RETRY.Frame");
    EXPECT_EQ(kind(init_flit(9)), "INIT.Param");
    FlitBytes unknown = idle_flit();
    unknown[4] = std::byte{0xFF};
    EXPECT_EQ(kind(unknown), "control");
    const FrameInfo request = describe(on_the_wire(RetryRequest{7, 1, 0}.encode()));
    EXPECT_EQ(request.kind, "RETRY.Req");
    EXPECT_EQ(request.number, 7U);
    const FrameInfo ack = describe(on_the_wire(RetryAck{.eseq = 9}.encode()));
    EXPECT_EQ(ack.kind, "RETRY.Ack");
    EXPECT_EQ(ack.number, 9U);
    EXPECT_EQ(describe(on_the_wire(llcrd_flit(12))).ack, 12U);
    EXPECT_EQ(describe(on_the_wire(message_flit({}, true))).ack, 8U);
    std::array<std::byte, TrainingSet::size> set;
    TrainingSet{}.encode(set);
    EXPECT_EQ(describe(set).kind, "training");
    EXPECT_EQ(describe({}).kind, "frame");
    EXPECT_EQ(describe(ConstBytes(set).first(5)).length, 5U);
}

}  // namespace
}  // namespace wireproof::cxl
