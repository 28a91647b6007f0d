#include "wireproof/lab/link_retry/retry_build.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "wireproof/lab/link_retry/retry_am_end.hpp"
#include "wireproof/lab/link_retry/retry_engines.hpp"
#include "wireproof/lab/link_retry/retry_ib_end.hpp"

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
IbRetryEnd<transport> build_ib(const RetrySettings& s, const RetryLink& link, RetryMemory& memory,
                               int) {
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

Expected<RetryPoint> run_am(const RetrySettings& settings, const RetryPlan& plan,
                            const RetryLink& link, am::Recovery recovery) {
    const am::MemoryTable none;
    if (recovery == am::Recovery::go_back_n) {
        const auto build = [&none](const RetrySettings&, const RetryLink& of, RetryMemory&,
                                   int node) {
            return AmGoBackNEnd(am_config(am::Config::sp2(), of, node), none);
        };
        return run_engines<AmGoBackNEnd>(settings, plan, link, build);
    }
    const auto build = [&none](const RetrySettings&, const RetryLink& of, RetryMemory&, int node) {
        return AmSelectiveEnd(am_config(am::Config::ethernet(), of, node), none);
    };
    return run_engines<AmSelectiveEnd>(settings, plan, link, build);
}

Expected<RetryPoint> run_rc(const RetrySettings& settings, const RetryPlan& plan,
                            const RetryLink& link) {
    return run_engines<RcEnd>(settings, plan, link, build_ib<proto::ib::Transport::rc>);
}

Expected<RetryPoint> run_uc(const RetrySettings& settings, const RetryPlan& plan,
                            const RetryLink& link) {
    return run_engines<UcEnd>(settings, plan, link, build_ib<proto::ib::Transport::uc>);
}

}  // namespace wireproof::lab
