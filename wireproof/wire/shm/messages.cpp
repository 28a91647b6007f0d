#include "wireproof/wire/shm/messages.hpp"

namespace wireproof {
namespace {

constexpr std::uint64_t magic = 0x31'6D'68'73'2D'70'77'31;

template <std::size_t Size>
std::optional<std::span<const std::byte, Size>> exactly(ConstBytes bytes) {
    if (bytes.size() != Size) return std::nullopt;
    return bytes.first<Size>();
}

std::uint32_t kind_of(ShmMessage kind) {
    return static_cast<std::uint32_t>(kind);
}

}  // namespace

std::optional<ShmMessage> message_kind(ConstBytes message) {
    if (message.size() < 4) return std::nullopt;
    const auto kind = load_le<std::uint32_t>(message.first<4>());
    if (kind < kind_of(ShmMessage::hello) || kind > kind_of(ShmMessage::memory)) {
        return std::nullopt;
    }
    return static_cast<ShmMessage>(kind);
}

void Greeting::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint32_t, 0>(to, kind_of(kind));
    store_le_at<std::uint32_t, 4>(to, version);
    store_le_at<std::uint64_t, 8>(to, magic);
    store_le_at<std::uint64_t, 16>(to, job);
    store_le_at<std::uint32_t, 24>(to, node);
    store_le_at<std::uint32_t, 28>(to, nodes);
    store_le_at<std::uint32_t, 32>(to, frame_max);
    store_le_at<std::uint32_t, 36>(to, lines);
    store_le_at<std::uint64_t, 40>(to, nonce);
    store_le_at<std::uint64_t, 48>(to, nonce_address);
    store_le_at<std::uint64_t, 56>(to, barrier ? 1 : 0);
    store_le_at<std::uint64_t, 64>(to, 0);
}

std::optional<Greeting> Greeting::decode(ConstBytes from) {
    const auto bytes = exactly<size>(from);
    if (!bytes || load_le_at<std::uint64_t, 8>(*bytes) != magic) return std::nullopt;
    Greeting greeting;
    greeting.kind = static_cast<ShmMessage>(load_le_at<std::uint32_t, 0>(*bytes));
    greeting.version = load_le_at<std::uint32_t, 4>(*bytes);
    greeting.job = load_le_at<std::uint64_t, 16>(*bytes);
    greeting.node = load_le_at<std::uint32_t, 24>(*bytes);
    greeting.nodes = load_le_at<std::uint32_t, 28>(*bytes);
    greeting.frame_max = load_le_at<std::uint32_t, 32>(*bytes);
    greeting.lines = load_le_at<std::uint32_t, 36>(*bytes);
    greeting.nonce = load_le_at<std::uint64_t, 40>(*bytes);
    greeting.nonce_address = load_le_at<std::uint64_t, 48>(*bytes);
    greeting.barrier = (load_le_at<std::uint64_t, 56>(*bytes) & 1) != 0;
    return greeting;
}

void MemoryNote::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint32_t, 0>(to, kind_of(ShmMessage::memory));
    store_le_at<std::uint32_t, 4>(to, allocation);
    store_le_at<std::uint64_t, 8>(to, writable ? 1 : 0);
    store_le_at<std::uint64_t, 16>(to, bytes);
}

std::optional<MemoryNote> MemoryNote::decode(ConstBytes from) {
    const auto bytes = exactly<size>(from);
    if (!bytes) return std::nullopt;
    return MemoryNote{.allocation = load_le_at<std::uint32_t, 4>(*bytes),
                      .writable = load_le_at<std::uint64_t, 8>(*bytes) != 0,
                      .bytes = load_le_at<std::uint64_t, 16>(*bytes)};
}

void ShareNote::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint32_t, 0>(to, static_cast<std::uint32_t>(kind));
    store_le_at<std::uint32_t, 4>(to, (readable ? 1U : 0U) | (writable ? 2U : 0U));
    store_le_at<std::uint32_t, 8>(to, allocation);
    store_le_at<std::uint32_t, 12>(to, 0);
    store_le_at<std::uint64_t, 16>(to, address);
    store_le_at<std::uint64_t, 24>(to, bytes);
    store_le_at<std::uint64_t, 32>(to, memory);
    store_le_at<std::uint64_t, 40>(to, offset);
}

std::optional<ShareNote> ShareNote::decode(ConstBytes from) {
    const auto bytes = exactly<size>(from);
    if (!bytes) return std::nullopt;
    const auto kind = load_le_at<std::uint32_t, 0>(*bytes);
    if (kind < 1 || kind > 4) return std::nullopt;
    const auto rights = load_le_at<std::uint32_t, 4>(*bytes);
    return ShareNote{.kind = static_cast<Kind>(kind),
                     .readable = (rights & 1) != 0,
                     .writable = (rights & 2) != 0,
                     .allocation = load_le_at<std::uint32_t, 8>(*bytes),
                     .address = load_le_at<std::uint64_t, 16>(*bytes),
                     .bytes = load_le_at<std::uint64_t, 24>(*bytes),
                     .memory = load_le_at<std::uint64_t, 32>(*bytes),
                     .offset = load_le_at<std::uint64_t, 40>(*bytes)};
}

}  // namespace wireproof
