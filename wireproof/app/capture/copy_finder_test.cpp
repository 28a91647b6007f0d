#include "wireproof/app/capture/copy_finder.hpp"

#include <gtest/gtest.h>

#include <array>

namespace wireproof::capture {
namespace {

constexpr std::size_t route = 4;

/// A packet of 16 bytes in an IPv4 datagram.
class Copied {
public:
    explicit Copied(std::uint8_t payload = 0) {
        headers_[0] = std::byte{0x45};
        set_hops(64);
        packet_.back() = std::byte{payload};
    }

    void set_hops(std::uint8_t hops) { headers_[8] = std::byte{hops}; }
    void mark() { packet_[4] = std::byte{0x80}; }  // as a congested router does
    void identify(std::uint8_t number) { headers_[5] = std::byte{number}; }

    SeenPacket seen(std::uint64_t number, double seconds, std::uint32_t interface = 0) const {
        SeenPacket packet{.number = number, .seconds = seconds, .place = {interface, 0}};
        packet.datagram.headers = headers_;
        packet.datagram.packet = packet_;
        return packet;
    }

private:
    std::array<std::byte, 28> headers_{};
    std::array<std::byte, 16> packet_{};
};

/// What a finder says that has seen `first` at 1 s.
std::optional<std::uint64_t> found(const Copied& first, const SeenPacket& second) {
    CopyFinder copies;
    EXPECT_EQ(copies.on_packet(first.seen(1, 1), route), std::nullopt);
    copies.note(first.seen(1, 1), route);
    return copies.on_packet(second, route);
}

TEST(CopyFinder, ACopyIsSoonAndHasTheSameBytes) {
    const Copied first;
    EXPECT_EQ(found(first, first.seen(2, 1.00009)), 1U);
    EXPECT_EQ(found(first, first.seen(2, 0.99999)), 1U);  // the clock of another interface
    EXPECT_EQ(found(first, first.seen(2, 1.0002)), std::nullopt);
    EXPECT_EQ(found(first, Copied(1).seen(2, 1.00001)), std::nullopt);
    Copied other;
    other.identify(7);
    EXPECT_EQ(found(first, other.seen(2, 1.00001)), std::nullopt);
}

TEST(CopyFinder, AtAnotherPlaceItMayBeLater) {
    const Copied first;
    EXPECT_EQ(found(first, first.seen(2, 1.0009, 3)), 1U);
    EXPECT_EQ(found(first, first.seen(2, 1.0011, 3)), std::nullopt);
    Copied routed;
    routed.set_hops(63);
    routed.mark();
    EXPECT_EQ(found(first, routed.seen(2, 1.0009)), 1U);
}

TEST(CopyFinder, APacketThatIsSentAgainForAReasonIsNoCopy) {
    const Copied packet;
    CopyFinder copies;
    copies.note(packet.seen(1, 1), route);
    copies.expect_again(route ^ 1);
    EXPECT_EQ(copies.on_packet(packet.seen(2, 1.00001), route), 1U);
    copies.expect_again(route);
    EXPECT_EQ(copies.on_packet(packet.seen(3, 1.00002), route), std::nullopt);
    copies.note(packet.seen(3, 1.00002), route);
    EXPECT_EQ(copies.on_packet(packet.seen(4, 1.00003), route), 3U);
}

TEST(CopyFinder, WithoutATimeNothingIsACopy) {
    const Copied packet;
    SeenPacket timeless = packet.seen(2, 0);
    timeless.seconds.reset();
    EXPECT_EQ(found(packet, timeless), std::nullopt);
}

TEST(CopyFinder, ManyPacketsAtOnceAreForgottenInTheirOrder) {
    CopyFinder copies;
    Copied packet;
    copies.note(packet.seen(1, 1), route);
    for (std::uint32_t i = 0; i < 1U << 16; ++i) {
        Copied other(1);
        SeenPacket seen = other.seen(2 + i, 1);
        seen.datagram.icrc = i;
        copies.note(seen, route);
    }
    EXPECT_EQ(copies.on_packet(packet.seen(100'000, 1), route), std::nullopt);
}

}  // namespace
}  // namespace wireproof::capture
