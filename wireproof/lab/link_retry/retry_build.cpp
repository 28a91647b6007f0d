#include "wireproof/lab/link_retry/retry_build.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "wireproof/lab/link_retry/retry_line.hpp"

namespace wireproof::lab {
namespace {

// The smallest circle of numbers that is large enough for the window, so that states repeat soon.
// The engines use only the distances of numbers.
std::uint64_t circle_for(std::uint32_t window) {
    return std::max<std::uint64_t>(1024, 2 * std::bit_ceil(std::uint64_t{window} * 2 + 1));
}

am::Config am_config(am::Config config, const RetryLink& link, int node) {
    constexpr std::size_t nack_max = 8 + 2048 / 8;  // bytes of the body
    config.packet_max = config.header_size() + nack_max;
    config.message_max = 4;
    config.bundle_max = config.open_bytes = 0;
    config.modulus = circle_for(link.buffer);
    config.first_number.fill(static_cast<std::uint32_t>(config.modulus - 16));
    config.window = {link.buffer, 4};
    config.chunk_packets = config.chunks_in_flight = config.ack_chunks = 1;
    config.reply_places = config.stores_max = config.gets_max = config.get_slots = 1;
    config.save_bytes = 64 + 16 * (std::size_t{link.buffer} + 1);
    config.held_packets = 0;  // packets with one word are small
    config.probe_after = config.ack_after = Duration();
    config.keepalive_after = config.keepalive_max = line_time(link.timer);
    config.keepalive_limit = std::numeric_limits<std::uint32_t>::max();
    config.node = static_cast<std::uint16_t>(node);
    config.peer = static_cast<std::uint16_t>(1 - node);
    config.cookie = 1;
    return config;
}

std::uint8_t timeout_code(std::uint64_t timer) {
    return static_cast<std::uint8_t>(std::countr_zero(timer / 4096));
}

proto::ib::QueuePairConfig queue_pair_config(proto::ib::Transport transport,
                                             const RetryLink& link) {
    proto::ib::QueuePairConfig config;
    config.transport = transport;
    config.number = RcEnd::queue_pair;
    config.domain = 1;
    config.limits = {.sends = std::size_t{link.buffer} + 1, .receives = 1, .pieces = 1};
    config.psn_modulus = config.msn_modulus = circle_for(link.buffer);
    // The line neither repeats nor reorders frames. A packet that seems to be behind is new: it
    // follows a long loss.
    config.uc_behind_max = 0;
    config.in_flight_max = config.ack_every = std::max(link.buffer, 1U);
    config.retries_unlimited = true;
    return config;
}

template <proto::ib::Transport transport>
IbRetryEnd<transport> build_ib(const RetrySettings& s, const RetryLink& link, RetryMemory& memory) {
    constexpr std::uint64_t source_at = 0x1000'0000;
    constexpr std::uint64_t landing_at = 0x2000'0000;
    constexpr std::uint32_t number = IbRetryEnd<transport>::queue_pair;
    proto::ib::Port port({.path_mtu = 4096});
    proto::ib::QueuePairConfig config = queue_pair_config(transport, link);
    config.send_completions = config.receive_completions = port.add_completion_queue(1);
    const auto source = port.memory().add_region(
        {.domain = config.domain, .address = source_at, .memory = memory.source});
    const auto landing =
        port.memory().add_region({.domain = config.domain,
                                  .address = landing_at,
                                  .memory = memory.landing,
                                  .access = {.local_write = true, .remote_write = true}});
    WIREPROOF_CHECK(source && landing && port.add_queue_pair(config));
    proto::ib::Connection connection;
    connection.path_mtu = proto::ib::path_mtu_within(
        proto::ib::packet_max(std::max<std::size_t>(256, std::bit_ceil(std::size_t{s.payload}))));
    connection.dest_queue_pair = number;
    connection.receive_psn = connection.send_psn =
        proto::ib::Psn(static_cast<std::uint32_t>(config.psn_modulus - 16));
    connection.timeout = transport == proto::ib::Transport::rc ? timeout_code(link.timer) : 0;
    const bool connected =
        port.modify(number, proto::ib::to_init({.remote_write = true})) ==
            proto::ib::ModifyStatus::done &&
        proto::ib::connect(port, number, connection) == proto::ib::ModifyStatus::done;
    WIREPROOF_CHECK(connected);
    const auto length = static_cast<std::uint32_t>(s.payload);
    return {std::move(port),
            {source_at, length, *source},
            {.request = proto::ib::Request::write,
             .signalled = false,
             .remote_address = landing_at,
             .remote_key = *landing}};
}

}  // namespace

template <>
PcieEnd build_end(const RetrySettings& s, const RetryLink& link, RetryMemory& memory, int) {
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    pcie::Config config;
    config.payload_max = s.payload;
    config.byte_time = line_time(1);
    config.first_number = config.modulus - 16;
    config.replay_slots = link.buffer + 1;  // one more waits
    config.outstanding = link.buffer;
    config.payload_lent = true;
    config.ack_after = link.ack_every;
    config.ack_latency = line_time(link.ack_every * unit);
    config.replay_after = line_time(link.timer);
    config.retrain_time = Duration();
    config.init_every = line_time(8 * (s.loop + unit));
    if (s.renak_on_bad_head) {
        // Between the end of the last unit of a gap and the end of the resent head (etr, section
        // 5).
        config.renak_after = line_time((s.loop + unit - 1) / unit * unit + unit / 2);
    }
    return {pcie::Link(config), memory.source};
}

template <>
HippiEnd build_end(const RetrySettings& s, const RetryLink& link, RetryMemory& memory, int node) {
    hippi::Config config;
    config.w_max = link.buffer;
    config.first_number = config.modulus - 16;
    config.retries_max = hippi::Config::retries_unlimited;
    config.null_after = line_time(link.ack_every > 1 ? link.ack_every * hippi::unit_size : 0);
    config.retry_after = line_time(link.timer);
    config.loop = line_time(s.loop + 2 * hippi::unit_size);
    config.start_again_after = config.loop * 10;
    config.message_max = std::max<std::size_t>(s.payload, hippi::data_size);
    config.messages_queued = 2;
    config.buffers.fill(hippi::Config::unlimited);
    config.lent = true;
    config.check_messages = false;  // the line marks damaged frames
    config.seed = node == 1 ? 2 : 1;
    return {hippi::Link(config), memory.source};
}

template <>
AmGoBackNEnd build_end(const RetrySettings&, const RetryLink& link, RetryMemory& memory, int node) {
    return {am_config(am::Config::sp2(), link, node), memory.none};
}

template <>
AmSelectiveEnd build_end(const RetrySettings&, const RetryLink& link, RetryMemory& memory,
                         int node) {
    return {am_config(am::Config::ethernet(), link, node), memory.none};
}

template <>
RcEnd build_end(const RetrySettings& s, const RetryLink& link, RetryMemory& memory, int) {
    return build_ib<proto::ib::Transport::rc>(s, link, memory);
}

template <>
UcEnd build_end(const RetrySettings& s, const RetryLink& link, RetryMemory& memory, int) {
    return build_ib<proto::ib::Transport::uc>(s, link, memory);
}

}  // namespace wireproof::lab
