#include "wireproof/app/transfer/ib_session.hpp"

#include <algorithm>

#include "wireproof/app/common/no_answer.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::app {
namespace {

constexpr std::uint32_t domain = 1;
constexpr std::size_t control_buffers = 32;
constexpr std::size_t receives_of_data = IbSession::slots;
// Sends and receives of both connections.
constexpr std::size_t completions_max = 4 * (control_buffers + receives_of_data);
constexpr std::uint64_t control_base = 0x1000'0000;
constexpr std::uint64_t data_base = 0x2000'0000;
constexpr std::uint64_t data_id = std::uint64_t{1} << 32;  // in ids; the lower bits: buffer

// As long as a busy machine may delay a process without an unnecessary resend.
constexpr std::uint8_t timeout_code = 13;  // 34 ms
// Few enough for the receive buffer of any socket, and for a cheap go-back-N.
constexpr std::uint32_t in_flight_max = 64;

Duration fraction(Duration whole, std::int64_t parts) {
    return Duration(whole.picoseconds() / parts);
}

}  // namespace

IbSession::IbSession(host::AnyWire wire, const Config& config)
    : config_(config),
      wire_(std::move(wire)),
      peer_(static_cast<PeerId>(1 - config.node)),
      port_({.path_mtu = config.path_mtu}),
      control_memory_(control_buffers * control_max),
      data_memory_(slots * config.piece_max),
      busy_(slots) {
    sent_ = port_.add_completion_queue(completions_max);
    received_ = port_.add_completion_queue(completions_max);
    const auto registered = [this](std::uint64_t address, Bytes memory) {
        const auto key = port_.memory().add_region({.domain = domain,
                                                    .address = address,
                                                    .memory = memory,
                                                    .access = {.local_write = true}});
        WIREPROOF_CHECK(key.has_value());
        return *key;
    };
    control_key_ = registered(control_base, control_memory_);
    data_key_ = registered(data_base, data_memory_);
    open(Line::control);
    open(Line::data);
}

proto::ib::Psn IbSession::first_psn(Line line, std::uint16_t node) const {
    const std::uint64_t salt = 2 * static_cast<std::uint64_t>(line) + node;
    return proto::ib::Psn(static_cast<std::uint32_t>(mix64(mix64(config_.seed) + salt) %
                                                     proto::ib::wire_circle.modulus()));
}

void IbSession::open(Line which) {
    proto::ib::QueuePairConfig config;
    config.transport = transport_of(which);
    config.number = 0x11 + static_cast<std::uint32_t>(which);
    config.domain = domain;
    config.send_completions = sent_;
    config.receive_completions = received_;
    config.limits = {.sends = slots,
                     .receives = std::max(control_buffers, receives_of_data),
                     .pieces = 1,
                     .inlined = control_max};
    // No credits: after a retry, the sender would send one packet at a time and get answers about
    // packets that it has not resent yet. Receives are posted again at once.
    config.in_flight_max = in_flight_max;
    // watch() ends the session after a time. A limit of retries would also end it on a lossy path,
    // or while the other process sleeps.
    config.retries_unlimited = true;
    config.backs_off = true;
    const auto number = port_.add_queue_pair(config);
    WIREPROOF_CHECK(number.has_value());
    line(which).number = *number;
    connect(which);
}

void IbSession::connect(Line which) {
    const Connection& connection = line(which);
    const auto peer_node = static_cast<std::uint16_t>(peer_);
    const auto init = port_.modify(connection.number, proto::ib::to_init({}));
    const auto ready = proto::ib::connect(port_, connection.number,
                                          {.peer = peer_,
                                           .path_mtu = config_.path_mtu,
                                           .dest_queue_pair = connection.number,
                                           .receive_psn = first_psn(which, peer_node),
                                           .send_psn = first_psn(which, config_.node),
                                           .timeout = timeout_code});
    WIREPROOF_CHECK(init == proto::ib::ModifyStatus::done &&
                    ready == proto::ib::ModifyStatus::done);
    const std::size_t buffers = which == Line::control ? control_buffers : receives_of_data;
    // Only the receiver of the data posts receives for data. The sender uses the slots itself.
    if (which == Line::data && config_.node == 0) return;
    for (std::size_t buffer = 0; buffer < buffers; ++buffer) post_receive(which, buffer);
}

void IbSession::post_receive(Line which, std::size_t buffer) {
    const bool control = which == Line::control;
    const std::size_t size = control ? control_max : config_.piece_max;
    const proto::ib::Piece piece{.address = (control ? control_base : data_base) + buffer * size,
                                 .length = static_cast<std::uint32_t>(size),
                                 .key = control ? control_key_ : data_key_};
    const auto status = port_.post_receive(
        line(which).number,
        {.id = (control ? 0 : data_id) + buffer, .pieces = std::span(&piece, 1)});
    WIREPROOF_CHECK(status == proto::ib::PostStatus::accepted);
}

void IbSession::post(Line which, const Posted& message) {
    proto::ib::WorkRequest request;
    const ConstBytes inlined(message.control);
    const proto::ib::Piece piece{.address = data_base + message.slot * config_.piece_max,
                                 .length = static_cast<std::uint32_t>(message.length),
                                 .key = data_key_};
    if (which == Line::control) {
        request.inlined = std::span(&inlined, 1);
    } else {
        request.terms.id = data_id;
        request.terms.request = proto::ib::Request::send_immediate;
        request.terms.immediate = message.immediate;
        request.pieces = std::span(&piece, 1);
    }
    WIREPROOF_CHECK(port_.post_send(line(which).number, request) ==
                    proto::ib::PostStatus::accepted);
}

void IbSession::send_control(ConstBytes message) {
    WIREPROOF_CHECK(!message.empty() && message.size() <= control_max);
    waiting_.emplace_back(message.begin(), message.end());
    ++queued_;
    post_waiting();
}

void IbSession::post_waiting() {
    auto& posted = line(Line::control).posted;
    while (!waiting_.empty() && posted.size() < slots) {
        posted.push_back({.control = std::move(waiting_.front())});
        waiting_.pop_front();
        post(Line::control, posted.back());
    }
}

std::optional<std::size_t> IbSession::free_slot() const {
    const auto found = std::find(busy_.begin(), busy_.end(), false);
    if (found == busy_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - busy_.begin());
}

Bytes IbSession::slot(std::size_t number) {
    return Bytes(data_memory_).subspan(number * config_.piece_max, config_.piece_max);
}

void IbSession::send_piece(std::size_t slot, std::size_t length, std::uint32_t immediate) {
    busy_[slot] = true;
    auto& posted = line(Line::data).posted;
    posted.push_back({.slot = slot, .length = length, .immediate = immediate});
    post(Line::data, posted.back());
}

void IbSession::on_sent(const proto::ib::Completion& completion) {
    if (completion.status == proto::ib::CompletionStatus::flushed) return;
    if (completion.status != proto::ib::CompletionStatus::success) {
        if (failure_.empty()) failure_ = name_of(completion.status);
        return;
    }
    Connection& connection = line(completion.id >= data_id ? Line::data : Line::control);
    const Posted& done = connection.posted.front();
    if (done.control.empty()) busy_[done.slot] = false;
    ++connection.completed;
    connection.posted.pop_front();
}

void IbSession::on_received(const proto::ib::Completion& completion) {
    if (completion.status == proto::ib::CompletionStatus::flushed) return;
    if (completion.status != proto::ib::CompletionStatus::success) {
        if (failure_.empty()) failure_ = name_of(completion.status);
        return;
    }
    const bool control = completion.id < data_id;
    const std::size_t buffer = static_cast<std::size_t>(completion.id % data_id);
    if (control) {
        const ConstBytes message =
            ConstBytes(control_memory_).subspan(buffer * control_max, completion.length);
        if (on_control_) on_control_(message);
    } else if (on_piece_) {
        on_piece_(ConstBytes(slot(buffer)).first(completion.length),
                  completion.immediate.value_or(0));
    }
    post_receive(control ? Line::control : Line::data, buffer);
}

std::size_t IbSession::draw_completions() {
    std::size_t drawn = 0;
    for (; const auto completion = port_.poll(sent_); ++drawn) on_sent(*completion);
    for (; const auto completion = port_.poll(received_); ++drawn) on_received(*completion);
    post_waiting();
    return drawn;
}

std::size_t IbSession::poll(Instant now) {
    if (began_ == never) began_ = spoke_ = now;
    polled_ = now;
    std::size_t handled = 0;
    while (const auto frame = wire_.receive(now)) {
        ++handled;
        const RxVerdict verdict = port_.on_frame(now, *frame);
        if (verdict != RxVerdict::corrupt && verdict != RxVerdict::malformed &&
            verdict != RxVerdict::foreign) {
            heard_ = now;
        }
        // At once: without a posted receive, the next message is lost or delayed.
        handled += draw_completions();
    }
    while (wire_.next_event()) {
    }
    if (port_.next_deadline() <= now) port_.on_deadline(now);
    while (port_.next_delivery()) {
    }
    handled += draw_completions();
    if (failure_.empty()) watch(now);
    return handled + transmit_all(now);
}

std::size_t IbSession::transmit_all(Instant now) {
    std::size_t frames = 0;
    while (true) {
        const Transmitted sent = transmit(port_, wire_.lane(peer_), now);
        wire_.flush(now);
        frames += sent.frames;
        if (sent.frames == 0 || !sent.lane_full) break;
    }
    completed_ = port_.completion_queue(sent_).size() > 0;
    return frames;
}

// A side without messages sends one now and then: its acknowledgement shows each side that the
// other lives.
void IbSession::watch(Instant now) {
    const Instant since = heard_ == never ? began_ : heard_;
    if (now >= since + config_.peer_timeout) {
        failure_ = silence(config_.peer_timeout, wire_.trouble(peer_).cause);
        return;
    }
    for (const Line which : {Line::control, Line::data}) {
        const Unanswered packet = port_.unanswered(line(which).number);
        if (!packet.lasts(now, config_.peer_timeout)) continue;
        failure_ = no_answer(packet, config_.peer_timeout, config_.framing, config_.mtu,
                             wire_.trouble(peer_).cause);
        return;
    }
    if (now < spoke_ + fraction(config_.peer_timeout, 4)) return;
    spoke_ = now;
    if (!control_idle()) return;
    ++keepalives_;
    send_control(std::array{std::byte{0}});
}

Instant IbSession::next_deadline() const {
    Instant next = earliest(port_.next_deadline(), wire_.next_deadline());
    if (began_ == never || !failure_.empty()) return next;
    // Sent messages complete at the next poll, because the wire owns their bytes until the flush.
    if (completed_) return polled_;
    const Instant since = heard_ == never ? began_ : heard_;
    for (const Connection& connection : lines_) {
        next = earliest(next, port_.unanswered(connection.number).deadline(config_.peer_timeout));
    }
    return earliest(next, since + config_.peer_timeout, spoke_ + fraction(config_.peer_timeout, 4));
}

const proto::ib::QueuePairCounters& IbSession::control_counters() const {
    return port_.queue_pair(line(Line::control).number)->counters;
}

const proto::ib::QueuePairCounters& IbSession::data_counters() const {
    return port_.queue_pair(line(Line::data).number)->counters;
}

}  // namespace wireproof::app
