#include "wireproof/front/verbs/peers/peer_message.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

using Bytes48 = std::array<std::byte, PeerMessage::size>;

Bytes48 encoded() {
    PeerMessage message{
        .kind = PeerMessage::Kind::ping, .memory = true, .life = 0x0123456789ABCDEF, .address = {}};
    message.address.family = Address::Family::ipv4;
    message.address.host = {127, 1, 2, 3};
    message.address.scope = 7;
    Bytes48 bytes{};
    message.encode(bytes);
    return bytes;
}

TEST(PeerMessage, IsReadAsItWasWritten) {
    const auto read = PeerMessage::decode(encoded());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, PeerMessage::Kind::ping);
    EXPECT_TRUE(read->memory);
    EXPECT_EQ(read->life, 0x0123456789ABCDEFU);
    EXPECT_EQ(read->address.host_text(), "127.1.2.3%7");
    EXPECT_EQ(read->address.port, rocev2_port);
}

TEST(PeerMessage, OfAnotherLengthIsRefused) {
    const Bytes48 bytes = encoded();
    std::vector<std::byte> longer(bytes.begin(), bytes.end());
    longer.emplace_back();
    EXPECT_FALSE(PeerMessage::decode(longer));
    EXPECT_FALSE(PeerMessage::decode(ConstBytes(bytes).first(47)));
    EXPECT_FALSE(PeerMessage::decode({}));
}

TEST(PeerMessage, OfAnotherVersionIsRefused) {
    for (std::size_t at = 0; at < 8; ++at) {
        Bytes48 bytes = encoded();
        bytes[at] ^= std::byte{1};
        EXPECT_FALSE(PeerMessage::decode(bytes)) << at;
    }
}

TEST(PeerMessage, OfAnUnknownKindOrFamilyIsRefused) {
    for (const auto& [at, least, most] : {std::array{8, 1, 4}, std::array{24, 1, 2}}) {
        const auto place = static_cast<std::size_t>(at);
        for (int value = 0; value <= 255; ++value) {
            Bytes48 bytes = encoded();
            bytes[place] = static_cast<std::byte>(value);
            if (value == 2 && at == 24) bytes[47] = std::byte{1};  // an address of IPv6
            EXPECT_EQ(PeerMessage::decode(bytes).has_value(), value >= least && value <= most)
                << at << ": " << value;
        }
        Bytes48 bytes = encoded();
        bytes[place + 3] = std::byte{1};
        EXPECT_FALSE(PeerMessage::decode(bytes));
    }
}

TEST(PeerMessage, OfAnAddressThatNoPeerCanHaveIsRefused) {
    for (const std::uint8_t first : std::array<std::uint8_t, 5>{0, 224, 239, 240, 255}) {
        Bytes48 bytes = encoded();
        bytes[32] = std::byte{first};
        EXPECT_FALSE(PeerMessage::decode(bytes)) << int{first};
    }
}

}  // namespace
}  // namespace wireproof::verbs
