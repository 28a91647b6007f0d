// Common parts of the fuzz targets of SP AM. The configurations are so small that windows fill,
// numbers wrap and places run out after a few frames. The memory shows wrong accesses.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "fuzz/input.hpp"

#include "wireproof/base/random.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am::fuzz {

/// The bits of `choice` select layout, recovery, sizes and whether HELLO opens the session.
inline Config small_config(std::uint8_t choice) {
    Config config;
    const bool roomy = (choice & 4) != 0;
    config.layout = (choice & 1) != 0 ? Layout::ethernet : Layout::sp2;
    config.recovery = (choice & 2) != 0 ? Recovery::selective : Recovery::go_back_n;
    config.packet_max = config.header_size() + 32;
    config.message_max = 32;
    config.modulus = std::uint64_t{1} << 16;
    config.first_number = {65'530, 65'500};
    config.chunk_packets = roomy ? 4 : 2;
    config.chunks_in_flight = 2;
    config.window = roomy ? std::array{12U, 13U} : std::array{4U, 3U};
    config.reply_places = roomy ? 3 : 1;
    config.stores_max = config.gets_max = 3;
    config.get_slots = 1;
    config.save_bytes = roomy ? 256 : 40;
    if ((choice & 16) != 0) config.open_bytes = config.data_max() - OpenBody::size;
    config.held_packets = config.recovery == Recovery::selective ? 3 : 0;
    config.peer_timeout = Duration::milliseconds(60'000);
    if ((choice & 8) == 0) config.cookie = 0xC00C1E;
    WIREPROOF_CHECK(config.check().has_value());
    return config;
}

inline Config mirrored(Config config) {
    std::swap(config.node, config.peer);
    config.seed += 1000;
    return config;
}

inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
    std::vector<std::byte> bytes(size);
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return bytes;
}

/// Memory that the peer uses: one region for stores, one for gets. Nobody may write the bytes
/// around them.
class PeerMemory {
public:
    static constexpr std::uint64_t stores_at = 0x1000;
    static constexpr std::uint64_t gets_at = 0x2000;

    explicit PeerMemory(std::size_t size)
        : size_(size), arena_(pattern(2 * size + 3 * guard, 7)), untouched_(arena_) {
        WIREPROOF_CHECK(table.add(stores_at, stores(), {.read = false, .write = true}));
        WIREPROOF_CHECK(table.add(gets_at, gets(), {.read = true, .write = false}));
    }
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    Bytes stores() { return Bytes(arena_).subspan(guard, size_); }
    Bytes gets() { return Bytes(arena_).subspan(2 * guard + size_, size_); }

    void check() const {
        const auto same = [this](std::size_t begin, std::size_t length) {
            const auto first = static_cast<std::ptrdiff_t>(begin);
            const auto last = static_cast<std::ptrdiff_t>(begin + length);
            return std::equal(arena_.begin() + first, arena_.begin() + last,
                              untouched_.begin() + first);
        };
        WIREPROOF_CHECK(same(0, guard));
        WIREPROOF_CHECK(same(guard + size_, arena_.size() - guard - size_));
    }

    MemoryTable table;

private:
    static constexpr std::size_t guard = 64;

    std::size_t size_;
    std::vector<std::byte> arena_;
    std::vector<std::byte> untouched_;
};

/// Memory of the unfinished transfers, by tag. It is freed as soon as its transfer ends, so the
/// address sanitizer finds each later access (AM-36).
class Lent {
public:
    struct Transfer {
        bool is_store = false;
        std::uint64_t at = 0;  // offset in the peer's region
        std::vector<std::byte> bytes;
        Reason refusal = Reason::none;  // with which the transfer must end
    };

    std::uint64_t next_tag() const { return next_; }
    void add(Transfer transfer) { under_way_.emplace(next_++, std::move(transfer)); }

    Transfer end(std::uint64_t tag, bool is_store) {
        const auto found = under_way_.find(tag);
        WIREPROOF_CHECK(found != under_way_.end());  // each ends once
        WIREPROOF_CHECK(found->second.is_store == is_store);
        Transfer ended = std::move(found->second);
        under_way_.erase(found);
        return ended;
    }
    bool empty() const { return under_way_.empty(); }
    const std::map<std::uint64_t, Transfer>& under_way() const { return under_way_; }

private:
    std::map<std::uint64_t, Transfer> under_way_;
    std::uint64_t next_ = 1;
};

struct Sent {
    std::vector<std::byte> bytes;
    Header header;
};

/// The next frame that the engine sends. It must be a valid frame to the peer.
inline std::optional<Sent> next_sent(Connection& engine, Instant now) {
    const Config& config = engine.config();
    std::vector<std::byte> room(config.packet_max);
    TxFrame out;
    out.open(room, {.frame_max = room.size()});
    if (!engine.poll_transmit(now, out)) {
        WIREPROOF_CHECK(out.size() == 0);
        return std::nullopt;
    }
    Sent sent;
    sent.bytes.resize(out.size());
    out.gather(sent.bytes);
    WIREPROOF_CHECK(checksum_holds(config.layout, sent.bytes));
    const auto header = decode(config.layout, sent.bytes);
    WIREPROOF_CHECK(header && header->dst == config.peer && header->src == config.node);
    sent.header = *header;
    return sent;
}

}  // namespace wireproof::am::fuzz
