#include "wireproof/proto/am/config.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

Config Config::sp2() {
    Config config;
    config.layout = Layout::sp2;
    config.recovery = Recovery::go_back_n;
    config.packet_max = 256;  // AM-1: at most 224 bytes of data
    config.message_max = 16;  // four words
    config.modulus = std::uint64_t{1} << 16;
    config.first_number = {65'500, 65'500};  // numbers wrap soon, not after an hour
    config.window = {75, 76};
    config.chunk_packets = 36;  // AM-2: 8064 bytes
    config.chunks_in_flight = 2;
    config.reply_places = 75;
    config.save_bytes = std::size_t{76} * 224;
    config.held_packets = 0;
    config.keepalive_after = Duration::microseconds(500);
    config.keepalive_max = Duration::milliseconds(16);
    config.keepalive_limit = 16;
    config.peer_timeout = Duration{};
    config.resend_limit = 0;  // a switch carries every packet of 256 bytes
    config.poll_every = 1;
    config.fifo_entries = 64;
    config.lazy_pop = 16;
    return config;
}

Config Config::ethernet(std::size_t mtu, PathFigures path, IpVersion ip) {
    const std::size_t ip_and_udp = ip_and_udp_size(ip);
    Config config;
    config.packet_max = mtu > ip_and_udp ? mtu - ip_and_udp : 0;
    const std::size_t header = config.header_size();
    const std::size_t data = config.packet_max > header ? (config.packet_max - header) / 8 * 8 : 0;
    config.packet_max = header + data;
    config.message_max = data;
    config.bundle_max = data;
    // The save queue then has room for the OPENs of all stores that may be active.
    config.open_bytes =
        std::min<std::size_t>(data > OpenBody::size ? data - OpenBody::size : 0, 4000);
    config.first_flight = config.chunk_packets + 2;  // more than a chunk with its OPEN
    config.probe_after = Duration::microseconds(100);
    config.ack_after = Duration::microseconds(50);
    config.first_number = {0xFFFFFF00, 0xFFFFFF00};
    // While one chunk is being acknowledged, the others fill the path.
    const double in_flight = path.bytes_per_second * path.round_trip.seconds();
    const double chunk = static_cast<double>(std::max<std::size_t>(config.chunk_bytes(), 1));
    config.chunks_in_flight =
        static_cast<std::uint32_t>(std::clamp(std::ceil(in_flight / chunk) + 1, 2.0, 512.0));
    // Acknowledgements come often enough to keep most of the path full.
    config.ack_chunks = std::clamp(config.chunks_in_flight / 3, 1U, 8U);
    const std::uint32_t bulk = config.chunks_in_flight * config.chunk_packets;
    config.window = {std::max(1024U, bulk + 3), std::max(1024U, bulk + 4)};
    config.stores_max = config.gets_max = config.get_slots = 64;
    config.held_packets = std::max(config.window[0], config.window[1]);
    config.poll_every = 32;
    config.coalesce = 128;
    config.coalesce_for = Duration::microseconds(50);
    return config;
}

Config Config::shared_memory() {
    Config config;
    config.packet_max = 16 * 1024 - 8;  // a frame in a ring then takes whole cache lines
    config.message_max = config.data_max();
    config.bundle_max = 2048;
    config.open_bytes = 2048;
    config.first_number = {0xFFFFFF00, 0xFFFFFF00};
    config.save_bytes = std::size_t{512} * 1024;
    config.coalesce = 128;
    config.coalesce_for = Duration::microseconds(10);
    config.chunk_packets = 8;
    config.chunks_in_flight = 4;
    config.held_packets = 64;
    config.poll_every = 32;
    return config;
}

namespace {

std::string too_small(const char* what, std::uint64_t is, std::uint64_t wanted) {
    return std::string(what) + " is " + std::to_string(is) + ", and must be at least " +
           std::to_string(wanted);
}

}  // namespace

void Config::give_up_after(Duration silence) {
    constexpr std::int64_t questions = 20;
    peer_timeout = silence;
    const Duration apart(silence.picoseconds() / questions);
    keepalive_max = std::max(keepalive_after, std::min(keepalive_max, apart));
}

Expected<void> Config::check() const {
    constexpr std::size_t body_max = std::max({OpenBody::size, GetBody::size, HelloBody::size});
    if (packet_max < header_size() + body_max) {
        return unexpected(too_small("packet size", packet_max, header_size() + body_max));
    }
    if (layout == Layout::sp2 && modulus > 1U << 16) {
        return unexpected("modulus " + std::to_string(modulus) + " does not fit in 16 bits");
    }
    if (message_max > data_max() || message_max > 0xFFFF) {
        return unexpected("a message of " + std::to_string(message_max) +
                          " bytes does not fit in one packet");
    }
    if (bundle_max > data_max()) {
        return unexpected("bundles of " + std::to_string(bundle_max) +
                          " bytes do not fit in one packet");
    }
    if (open_bytes > data_max() - OpenBody::size) {
        return unexpected("an OPEN with " + std::to_string(open_bytes) +
                          " bytes of its store does not fit in one packet");
    }
    if (chunk_packets < 1 || chunk_packets > 0xFFFF) {
        return unexpected("a chunk has 1 to 65535 packets, not " + std::to_string(chunk_packets));
    }
    if (congestion != Congestion::off && recovery != Recovery::selective) {
        return unexpected("congestion control needs selective recovery");
    }
    if (chunks_in_flight < 1) return unexpected(too_small("chunks in flight", 0, 1));
    if (ack_chunks < 1 || ack_chunks > chunks_in_flight) {
        return unexpected("an acknowledgement for each " + std::to_string(ack_chunks) +
                          " chunks, where " + std::to_string(chunks_in_flight) +
                          " may be in flight");
    }
    if (reply_places < 1) return unexpected(too_small("reply places", 0, 1));
    if (stores_max < 1 || gets_max < 1 || get_slots < 1) {
        return unexpected("stores, gets and get slots must each be at least 1");
    }
    const std::size_t message = message_max + (bundle_max > 0 ? BundleEntry::size : 0);
    const std::size_t longest = std::max({message, body_max, OpenBody::size + open_bytes});
    if (save_bytes < longest) {
        return unexpected(too_small("save queue", save_bytes, longest));
    }
    for (const std::uint32_t w : window) {
        // The receiver may hold back acknowledgements for a quarter of the window, less one. The
        // rest of the window must have room for a chunk.
        const std::uint64_t least = std::uint64_t{chunk_packets} + w / 4 - (w / 4 > 0 ? 1 : 0);
        if (w < least || w < 1)
            return unexpected(too_small("window", w, std::max<std::uint64_t>(least, 1)));
        if (w >= modulus / 4) {
            return unexpected("window " + std::to_string(w) + " is too large for modulus " +
                              std::to_string(modulus) + ": it must stay below a quarter of it");
        }
    }
    if (fifo_entries > 0 && lazy_pop >= fifo_entries) {
        return unexpected("lazy pop after " + std::to_string(lazy_pop) +
                          " messages would never return one of " + std::to_string(fifo_entries) +
                          " FIFO entries");
    }
    if (keepalive_after <= Duration{} || keepalive_max < keepalive_after || keepalive_limit < 1) {
        return unexpected("keep-alive needs 0 < first interval <= longest interval, and a limit");
    }
    if (first_flight < 1) return unexpected(too_small("first flight", 0, 1));
    if (probe_after < Duration{} || probe_after > keepalive_after) {
        return unexpected("a probe waits 0 or up to the first keep-alive interval");
    }
    if (ack_after < Duration{} || ack_after > keepalive_after) {
        return unexpected("an acknowledgement waits 0 or up to the first keep-alive interval");
    }
    return {};
}

std::uint64_t Config::terms() const {
    std::uint64_t digest = wire_format_version;
    const auto add = [&digest](std::uint64_t figure) { digest = mix64(digest ^ mix64(figure)); };
    add(static_cast<std::uint64_t>(layout));
    add(static_cast<std::uint64_t>(recovery));
    add(packet_max);
    add(modulus);
    add(bundle_max);
    add(open_bytes);
    add(trusts_payload);
    add(chunk_packets);
    add(chunks_in_flight);
    add(ack_chunks);
    add(stores_max);
    add(gets_max);
    add(get_slots);
    for (std::size_t i = 0; i < channel_count; ++i) {
        add(first_number[i]);
        add(window[i]);
    }
    return digest;
}

}  // namespace wireproof::am
