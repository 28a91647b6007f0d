#include "wireproof/app/perf/perf_ib_end.hpp"

#include <fmt/format.h>

#include <cstring>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/no_answer.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/transport/peer_window.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::app {
namespace {

constexpr std::uint32_t perf_domain = 1;
constexpr std::uint32_t perf_queue_pair = 0x11;
constexpr std::size_t receives_posted = 512;
constexpr std::size_t frames_a_turn = 256;
constexpr std::uint64_t source_at = 0x1000'0000'0000;
constexpr std::uint64_t destination_at = 0x2000'0000'0000;
constexpr std::size_t result_size = sizeof(std::uint64_t);  // result of an Atomic
constexpr std::size_t around_packet = 28 + IcrcCover::icrc_size;

// 8.4 ms. If a process does not run for longer, the peer retransmits. If no packet follows a lost
// one, the sender waits for this time.
constexpr std::uint8_t timeout_code = 11;

proto::ib::Psn psn_of(std::uint64_t seed, std::uint16_t node) {
    return proto::ib::Psn(
        static_cast<std::uint32_t>(mix64(mix64(seed) + node) % proto::ib::wire_circle.modulus()));
}

proto::ib::PortConfig port_config(const PerfIbEnd::Config& config) {
    proto::ib::PortConfig port{.path_mtu = config.path_mtu};
    // A ring of shared memory lends only the room that it has. A receive buffer drops what does not
    // fit.
    if (config.over_udp) port.peer_window = proto::ib::peer_window_of(config.path_mtu);
    return port;
}

}  // namespace

PerfIbEnd::PerfIbEnd(PerfIbWire wire, const Config& config, Bytes source, Bytes destination)
    : config_(config),
      wire_(std::move(wire)),
      port_(port_config(config)),
      source_(source),
      destination_(destination),
      order_(config.transport == proto::ib::Transport::rc, first_number) {
    const auto key_of = [this](std::uint64_t address, Bytes memory,
                               const proto::ib::Access& access) {
        const auto key = port_.memory().add_region(
            {.domain = perf_domain, .address = address, .memory = memory, .access = access});
        WIREPROOF_CHECK(key.has_value());
        return *key;
    };
    source_key_ = key_of(source_at, source_, {.remote_read = true});
    destination_key_ = key_of(destination_at, destination_,
                              {.local_write = true, .remote_write = true, .remote_atomic = true});
    open();
}

void PerfIbEnd::open() {
    sent_ = port_.add_completion_queue(2 * in_flight_max);
    came_ = port_.add_completion_queue(2 * receives_posted);
    proto::ib::QueuePairConfig config;
    config.transport = config_.transport;
    config.number = perf_queue_pair;
    config.domain = perf_domain;
    config.send_completions = sent_;
    config.receive_completions = came_;
    config.limits = {
        .sends = in_flight_max, .receives = receives_posted, .pieces = 1, .inlined = 0};
    // look() gives the other end up after a time.
    config.retries_unlimited = true;
    config.backs_off = true;
    if (config_.over_udp) config.ack_delay = proto::ib::usual_ack_delay;
    const auto number = port_.add_queue_pair(config);
    WIREPROOF_CHECK(number.has_value());
    number_ = *number;
    const auto peer_node = static_cast<std::uint16_t>(1 - config_.node);
    const auto init = port_.modify(
        number_,
        proto::ib::to_init({.remote_write = true, .remote_read = true, .remote_atomic = true}));
    const auto ready = proto::ib::connect(port_, number_,
                                          {.peer = wire_.peer,
                                           .path_mtu = config_.path_mtu,
                                           .dest_queue_pair = perf_queue_pair,
                                           .receive_psn = psn_of(config_.seed, peer_node),
                                           .send_psn = psn_of(config_.seed, config_.node),
                                           .max_dest_rd_atomic = rd_atomic,
                                           .max_rd_atomic = rd_atomic,
                                           .timeout = timeout_code,
                                           .congestion = config_.congestion});
    WIREPROOF_CHECK(init == proto::ib::ModifyStatus::done &&
                    ready == proto::ib::ModifyStatus::done);
    for (std::size_t i = 0; i < receives_posted; ++i) post_receive();
}

void PerfIbEnd::post_receive() {
    const proto::ib::Piece piece{.address = destination_at,
                                 .length = static_cast<std::uint32_t>(destination_.size()),
                                 .key = destination_key_};
    const auto status = port_.post_receive(number_, {.pieces = std::span(&piece, 1)});
    WIREPROOF_CHECK(status == proto::ib::PostStatus::accepted);
}

bool PerfIbEnd::post(const proto::ib::WorkTerms& terms, std::size_t offset, std::size_t length) {
    const bool into = proto::ib::wants_data(terms.request);
    const proto::ib::Piece piece{.address = (into ? destination_at : source_at) + offset,
                                 .length = static_cast<std::uint32_t>(length),
                                 .key = into ? destination_key_ : source_key_};
    const auto status = port_.post_send(number_, {.terms = terms, .pieces = std::span(&piece, 1)});
    WIREPROOF_CHECK(status == proto::ib::PostStatus::accepted ||
                    status == proto::ib::PostStatus::queue_full);
    return status == proto::ib::PostStatus::accepted;
}

bool PerfIbEnd::send(std::uint32_t number, std::size_t size) {
    return post({.request = proto::ib::Request::send_immediate, .immediate = number}, 0, size);
}

bool PerfIbEnd::write(std::size_t size) {
    return post({.request = proto::ib::Request::write,
                 .remote_address = destination_at,
                 .remote_key = destination_key_},
                0, size);
}

bool PerfIbEnd::write_numbered(std::uint32_t number, std::size_t size) {
    return post({.request = proto::ib::Request::write_immediate,
                 .immediate = number,
                 .remote_address = destination_at,
                 .remote_key = destination_key_},
                0, size);
}

bool PerfIbEnd::read(std::size_t size) {
    return post({.request = proto::ib::Request::read,
                 .remote_address = source_at,
                 .remote_key = source_key_},
                0, size);
}

bool PerfIbEnd::fetch_add() {
    const std::size_t place = adds_posted_ % in_flight_max * result_size;
    const bool posted = post({.id = place,
                              .request = proto::ib::Request::fetch_add,
                              .remote_address = destination_at,
                              .remote_key = destination_key_,
                              .swap_or_add = 1},
                             place, result_size);
    if (posted) ++adds_posted_;
    return posted;
}

void PerfIbEnd::on_done(const proto::ib::Completion& completion) {
    if (completion.status != proto::ib::CompletionStatus::success) {
        throw Failure(fmt::format("an operation failed: {}", name_of(completion.status)));
    }
    ++completed_;
    if (completion.kind == proto::ib::CompletionKind::read && completion.length != order_.size()) {
        throw Failure(
            fmt::format("a Read of {} bytes returned {}", order_.size(), completion.length));
    }
    if (completion.kind != proto::ib::CompletionKind::fetch_add) return;
    std::uint64_t before = 0;
    std::memcpy(&before, destination_.data() + completion.id, sizeof before);
    if (before != added_) {
        throw Failure(fmt::format("fetch-and-add number {} found {}", added_, before));
    }
    ++added_;
}

void PerfIbEnd::on_message(const proto::ib::Completion& completion) {
    if (completion.status != proto::ib::CompletionStatus::success) {
        throw Failure(fmt::format("a message failed: {}", name_of(completion.status)));
    }
    post_receive();
    const std::uint32_t number = completion.immediate.value_or(0);
    switch (order_.take(number, completion.length)) {
        case MessageOrder::Verdict::counts:
        case MessageOrder::Verdict::late: return;
        case MessageOrder::Verdict::not_the_next:
            throw Failure(
                fmt::format("message {} arrived where {} was expected", number, order_.next()));
        case MessageOrder::Verdict::wrong_length:
            throw Failure(fmt::format("a message of {} bytes arrived with {}", order_.size(),
                                      completion.length));
    }
}

std::size_t PerfIbEnd::draw() {
    std::size_t drawn = 0;
    for (; const auto completion = port_.poll(sent_); ++drawn) on_done(*completion);
    for (; const auto completion = port_.poll(came_); ++drawn) on_message(*completion);
    return drawn;
}

std::size_t PerfIbEnd::turn() {
    now_ = clock_.now();
    std::size_t handled = 0;
    for (; handled < frames_a_turn; ++handled) {
        const auto frame = wire_.wire.receive(now_);
        if (!frame) break;
        port_.on_frame(now_, *frame);
        ++heard_;
        draw();  // at once: without a posted receive, a message is lost or refused
    }
    while (wire_.wire.next_event()) {
    }
    if (port_.next_deadline() <= now_) port_.on_deadline(now_);
    heed_events();
    transmit();
    return handled + draw();
}

void PerfIbEnd::transmit() {
    while (true) {
        const Transmitted sent = wireproof::transmit(port_, wire_.wire.lane(wire_.peer), now_);
        wire_.wire.flush(now_);
        if (sent.frames == 0 || !sent.lane_full) return;
    }
}

void PerfIbEnd::heed_events() {
    while (const auto event = port_.next_delivery()) {
        using What = proto::ib::PortEvent::What;
        switch (event->what) {
            case What::completion:
            case What::established:
            case What::drained:
            case What::message_lost:
            case What::limit_reached:
            case What::receives_flushed: break;
            case What::overrun:
            case What::completion_lost: throw Failure("a completion was lost");
            case What::request_refused: throw Failure("the other end sent an invalid request");
            case What::access_refused:
                throw Failure("the other end used memory without permission");
            case What::receive_faulty: throw Failure("a receive request names no memory");
        }
    }
}

void PerfIbEnd::look() {
    const Unanswered packet = port_.unanswered(number_);
    if (!packet.lasts(now_, peer_timeout)) return;
    const std::size_t around = config_.over_udp ? around_packet : 0;
    throw Failure(no_answer(packet, peer_timeout, around, packet.bytes + around,
                            wire_.wire.trouble(wire_.peer).cause));
}

const proto::ib::QueuePairCounters& PerfIbEnd::counters() const {
    return port_.queue_pair(number_)->counters;
}

}  // namespace wireproof::app
