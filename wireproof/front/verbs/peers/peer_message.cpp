#include "wireproof/front/verbs/peers/peer_message.hpp"

#include <cstring>

#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

constexpr std::uint64_t magic = 0x32'73'62'72'65'76'70'77;  // with the version of the messages

}  // namespace

void PeerMessage::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint64_t, 0>(to, magic);
    store_le_at<std::uint32_t, 8>(to, static_cast<std::uint32_t>(kind));
    store_le_at<std::uint32_t, 12>(to, memory ? 1 : 0);
    store_le_at<std::uint64_t, 16>(to, life);
    store_le_at<std::uint32_t, 24>(to, static_cast<std::uint32_t>(address.family));
    store_le_at<std::uint32_t, 28>(to, address.scope);
    std::memcpy(to.data() + 32, address.host.data(), address.host.size());
}

std::optional<PeerMessage> PeerMessage::decode(ConstBytes from) {
    if (from.size() != size) return std::nullopt;
    const auto bytes = from.first<size>();
    const auto kind = load_le_at<std::uint32_t, 8>(bytes);
    const auto family = load_le_at<std::uint32_t, 24>(bytes);
    if (load_le_at<std::uint64_t, 0>(bytes) != magic || kind < 1 || kind > 4 || family < 1 ||
        family > 2) {
        return std::nullopt;
    }
    PeerMessage message{.kind = static_cast<Kind>(kind),
                        .memory = load_le_at<std::uint32_t, 12>(bytes) != 0,
                        .life = load_le_at<std::uint64_t, 16>(bytes),
                        .address = {}};
    message.address.family = static_cast<Address::Family>(family);
    message.address.scope = load_le_at<std::uint32_t, 28>(bytes);
    message.address.port = rocev2_port;
    std::memcpy(message.address.host.data(), bytes.data() + 32, message.address.host.size());
    if (!message.address.why_no_peer().empty()) return std::nullopt;
    return message;
}

}  // namespace wireproof::verbs
