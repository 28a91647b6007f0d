#include "wireproof/lab/search/search_ib.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::lab {
namespace {

using proto::ib::Request;

constexpr std::uint32_t domain = 1;
constexpr std::uint64_t base = 0x1000;  // the address of each end's memory
constexpr std::size_t memory_size = 4608;
constexpr std::size_t place_size = 320;  // for each message

// The layout at A: bytes to send, results of Reads, results of Atomics. At B: bytes written by
// Writes, bytes for Reads, the word of Atomics, received bytes.
constexpr std::size_t send_at = 0;
constexpr std::size_t landing_at = 2048;
constexpr std::size_t result_at = 4096;
constexpr std::size_t target_at = 0;
constexpr std::size_t source_at = 2048;
constexpr std::size_t word_at = 2400;
constexpr std::size_t receive_at = 2560;
static_assert(receive_at + IbTask::calls_max * place_size <= memory_size);
constexpr unsigned source_seed = 100;
constexpr std::uint32_t first_immediate = 500;

constexpr std::size_t path_mtu = 256;

/// The first PSNs are two and three before the wrap.
proto::ib::Psn first_psn(const IbTask& task, std::size_t side) {
    return proto::ib::Psn(task.modulus - 2 - static_cast<std::uint32_t>(side));
}

std::uint32_t packets_of(const IbCall& call) {
    return static_cast<std::uint32_t>(proto::ib::packets_of(call.length, path_mtu));
}

std::vector<std::byte> pattern(std::size_t size, std::size_t seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed * 37 + i * 7 + 1);
    return bytes;
}
void put(std::vector<std::byte>& memory, std::size_t at, const std::vector<std::byte>& bytes) {
    std::copy(bytes.begin(), bytes.end(), memory.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Each call adds a different value, so the word shows which calls were executed, and how often.
std::uint64_t addend(std::size_t call) {
    return std::uint64_t{1} << (8 * call);
}

std::vector<std::byte> encoded(const proto::ib::Headers& headers, ConstBytes payload) {
    std::array<std::byte, proto::ib::packet_max(path_mtu)> room;
    TxFrame out;
    out.open(room, {.frame_max = room.size(), .carries_intact = true});
    proto::ib::encode(headers, std::span(&payload, 1), out);
    std::vector<std::byte> frame(out.size());
    out.gather(frame);
    return frame;
}

/// Nothing if the frame carries data or is not an acknowledgement, or is a NAK.
std::optional<proto::ib::Headers> acknowledgement(ConstBytes frame) {
    const auto packet = proto::ib::Packet::decode({.bytes = frame});
    if (!packet || packet->opcode->verb != proto::ib::Verb::acknowledge) return std::nullopt;
    if (packet->headers.aeth.syndrome.kind() != proto::ib::SyndromeKind::ack) return std::nullopt;
    return packet->headers;
}

/// Packet `index` of the response to a Read or an Atomic, with bytes that no one sent.
std::vector<std::byte> answer_without_data(const IbCall& call, std::uint32_t index,
                                           proto::ib::Headers headers) {
    using proto::ib::Operation;
    const bool ends = index + 1 == packets_of(call);
    Operation operation = index == 0 ? Operation::read_response_first
                          : ends     ? Operation::read_response_last
                                     : Operation::read_response_middle;
    if (proto::ib::is_atomic(call.request)) {
        operation = Operation::atomic_acknowledge;
    } else if (packets_of(call) == 1) {
        operation = Operation::read_response_only;
    }
    headers.bth.opcode = proto::ib::opcode_of(proto::ib::Transport::rc, operation);
    headers.atomic_ack = {0xDEAD};
    const std::vector<std::byte> nothing(
        proto::ib::is_atomic(call.request)
            ? 0
            : proto::ib::range_of(call.length, index, path_mtu).length);
    return encoded(headers, nothing);
}

}  // namespace

IbTampering completes_from_acks(const IbTask& task) {
    return {.arriving = [task](std::vector<std::byte>& frame) {
        const auto headers = acknowledgement(frame);
        if (!headers) return true;
        const Circle circle(task.modulus);
        proto::ib::Psn first = first_psn(task, 0);
        for (const IbCall& call : task.calls) {
            const std::uint32_t index = circle.steps_after(headers->bth.psn, first);
            first = circle.advance(first, packets_of(call));
            if (index >= packets_of(call)) continue;
            if (proto::ib::wants_data(call.request))
                frame = answer_without_data(call, index, *headers);
            break;
        }
        return true;
    }};
}

IbTampering acknowledges_newest(const IbTask& task) {
    return {.leaving = [task](std::vector<std::byte>& frame) {
        auto headers = acknowledgement(frame);
        if (!headers) return true;
        const Circle circle(task.modulus);
        proto::ib::Psn next = first_psn(task, 0);
        for (std::uint32_t i = 0; i < headers->aeth.msn.value(); ++i) {
            next = circle.advance(next, packets_of(task.calls[i]));
        }
        const proto::ib::Psn newest = proto::ib::before(next, circle);
        if (proto::ib::difference(newest, headers->bth.psn, circle) > 0) headers->bth.psn = newest;
        frame = encoded(*headers, {});
        return true;
    }};
}

IbTampering asks_for_nothing() {
    return {.leaving = [](std::vector<std::byte>& frame) {
        const auto first = std::span(frame).first<proto::ib::Bth::size>();
        proto::ib::Bth bth = proto::ib::Bth::decode(first);
        bth.ack_request = false;
        bth.encode(first);
        return true;
    }};
}

IbEnd::IbEnd(std::shared_ptr<const Shared> shared, std::size_t side)
    : shared_(std::move(shared)), side_(side), memory_(memory_size), port_({}) {
    WIREPROOF_CHECK(task().calls.size() <= IbTask::calls_max);
    if (side_ == 0) {
        for (std::size_t i = 0; i < task().calls.size(); ++i) {
            put(memory_, send_at + i * place_size, pattern(task().calls[i].length, i));
        }
    } else {
        put(memory_, source_at, pattern(IbTask::length_max, source_seed));
    }
    completions_ = port_.add_completion_queue(16);
    for (std::uint32_t& key : keys_) {
        key = port_.memory()
                  .add_region({.domain = domain,
                               .address = base,
                               .memory = memory_,
                               .access = {true, true, true, true, false}})
                  .value();
    }
    connect();
}

void IbEnd::connect() {
    const std::uint32_t half = task().modulus / 2;
    const bool added = port_
                           .add_queue_pair({.transport = task().transport,
                                            .number = number,
                                            .domain = domain,
                                            .send_completions = completions_,
                                            .receive_completions = completions_,
                                            .limits = {IbTask::calls_max, IbTask::calls_max, 1, 0},
                                            .uc_drop_behind = task().uc_drop_behind,
                                            .uc_behind_max = half,
                                            .credits = task().credits,
                                            .ack_every = std::min(8U, half),
                                            .in_flight_max = std::min(16U, half),
                                            .ack_delay = task().ack_delay,
                                            .acks_unasked = task().acks_unasked,
                                            .psn_modulus = task().modulus,
                                            .msn_modulus = task().modulus})
                           .has_value();
    WIREPROOF_CHECK(added);
    using State = proto::ib::QueuePairState;
    proto::ib::QueuePairChange to_rtr{.state = State::rtr,
                                      .address = PeerId{0},
                                      .path_mtu = path_mtu,
                                      .dest_queue_pair = number,
                                      .receive_psn = first_psn(task(), 1 - side_)};
    proto::ib::QueuePairChange to_rts{.state = State::rts, .send_psn = first_psn(task(), side_)};
    if (task().transport == proto::ib::Transport::rc) {
        to_rtr.max_dest_rd_atomic = task().resources.value_or(task().max_rd_atomic);
        to_rtr.min_rnr_timer = std::uint8_t{1};
        to_rts.max_rd_atomic = task().max_rd_atomic;
        to_rts.timeout = task().timeout;
        to_rts.retry_count = task().retry_count;
        to_rts.rnr_retry = std::uint8_t{7};
    }
    const proto::ib::QueuePairChange to_init{
        .state = State::init,
        .partition_index = std::uint16_t{0},
        .port = std::uint8_t{1},
        .access =
            proto::ib::Access{.remote_write = true, .remote_read = true, .remote_atomic = true}};
    for (const auto& change : {to_init, to_rtr, to_rts}) {
        WIREPROOF_CHECK(port_.modify(number, change) == proto::ib::ModifyStatus::done);
    }
}

IbEnd::IbEnd(const IbEnd& other)
    : shared_(other.shared_),
      side_(other.side_),
      memory_(other.memory_),
      port_(other.port_),
      completions_(other.completions_),
      keys_(other.keys_),
      now_(other.now_),
      offered_(other.offered_),
      completed_(other.completed_),
      failed_(other.failed_),
      delivered_(other.delivered_),
      arrived_(other.arrived_),
      violation_(other.violation_) {
    for (const std::uint32_t key : keys_) port_.memory().put_memory(key, memory_);
}

IbEnd& IbEnd::operator=(IbEnd other) noexcept {
    // A moved vector keeps its bytes at their address, so the region of the port stays valid.
    shared_ = std::move(other.shared_);
    side_ = other.side_;
    memory_ = std::move(other.memory_);
    port_ = std::move(other.port_);
    completions_ = other.completions_;
    keys_ = other.keys_;
    now_ = other.now_;
    offered_ = other.offered_;
    completed_ = other.completed_;
    failed_ = other.failed_;
    delivered_ = other.delivered_;
    arrived_ = other.arrived_;
    violation_ = other.violation_;
    return *this;
}

std::array<IbEnd, 2> IbEnd::both(const IbTask& task, Variants variants) {
    const auto shared = std::make_shared<const Shared>(Shared{task, std::move(variants)});
    return {IbEnd(shared, 0), IbEnd(shared, 1)};
}

std::size_t IbEnd::receives_wanted() const {
    std::size_t wanted = 0;
    for (const IbCall& call : task().calls)
        wanted += proto::ib::takes_receive(call.request) ? 1U : 0U;
    return wanted;
}

bool IbEnd::can_offer() const {
    return offered_ < (side_ == 0 ? task().calls.size() : receives_wanted());
}

void IbEnd::offer_all() {
    while (can_offer()) offer();
}

void IbEnd::offer() {
    const std::size_t n = offered_++;
    if (side_ == 1) {
        const proto::ib::Piece to{base + receive_at + n * place_size, IbTask::length_max, keys_[0]};
        WIREPROOF_CHECK(port_.post_receive(number, {.id = n, .pieces = std::span(&to, 1)}) ==
                        proto::ib::PostStatus::accepted);
        return;
    }
    const IbCall& call = task().calls[n];
    proto::ib::WorkTerms terms{.id = n,
                               .request = call.request,
                               .immediate = first_immediate + static_cast<std::uint32_t>(n),
                               .remote_address = base + target_at + n * place_size,
                               .remote_key = keys_[call.key]};
    proto::ib::Piece local{base + send_at + n * place_size, call.length, keys_[0]};
    if (call.request == Request::read) {
        terms.remote_address = base + source_at;
        local.address = base + landing_at + n * place_size;
    }
    if (proto::ib::is_atomic(call.request)) {
        terms.remote_address = base + word_at;
        terms.swap_or_add = addend(n);
        local = {base + result_at + n * 8, 8, keys_[0]};
    }
    WIREPROOF_CHECK(port_.post_send(number, {.terms = terms, .pieces = std::span(&local, 1)}) ==
                    proto::ib::PostStatus::accepted);
}

std::optional<IbEnd::Frame> IbEnd::transmit() {
    std::array<std::byte, proto::ib::packet_max(path_mtu)> room;
    TxFrame out;
    out.open(room, {.frame_max = room.size(), .carries_intact = true});
    const bool sent = port_.poll_transmit(now_, out);
    std::optional<Frame> frame;
    if (sent) out.gather(frame.emplace(out.size()));
    draw();
    const auto& change = shared_->variants[side_].leaving;
    if (frame && change && !change(*frame)) frame->clear();
    return frame;
}

RxVerdict IbEnd::receive(Frame frame, Arrives how) {
    const auto& change = shared_->variants[side_].arriving;
    if (frame.empty() || (how == Arrives::intact && change && !change(frame))) {
        return RxVerdict::control;
    }
    const Integrity integrity = how == Arrives::intact ? Integrity::intact : Integrity::damaged;
    const RxVerdict verdict = port_.on_frame(now_, {frame, PeerId{0}, integrity});
    draw();
    return verdict;
}

void IbEnd::wait() {
    now_ = std::max(now_, port_.next_deadline());
    port_.on_deadline(now_);
    draw();
}

void IbEnd::draw() {
    while (port_.next_delivery()) {
    }
    while (const auto completion = port_.poll(completions_)) on_completion(*completion);
    if (side_ == 0) return;
    if (task().transport == proto::ib::Transport::uc && counters().acks_sent > 0)
        fail("UC has answered");
    // Each byte of the word counts how often one call was executed.
    for (std::size_t i = 0; i < task().calls.size(); ++i) {
        if ((word(word_at) >> (8 * i) & 0xFF) > 1) fail("an Atomic was done twice");
    }
}

void IbEnd::on_completion(const proto::ib::Completion& completion) {
    if (side_ == 1) return on_received(completion);
    if (completion.id != completed_) fail("calls completed out of order, or twice");
    const bool well = completion.status == proto::ib::CompletionStatus::success;
    if (!well && !task().may_fail) fail("a call failed that could have been done");
    if (well && failed_ > 0) fail("a call succeeded behind one that failed");
    if (well) check_result(completed_);
    failed_ += well ? 0U : 1U;
    ++completed_;
}

void IbEnd::check_result(std::size_t call) {
    const IbCall& done = task().calls[call];
    if (done.request == Request::read &&
        !holds(landing_at + call * place_size, pattern(done.length, source_seed))) {
        fail("a Read returned wrong bytes");
    }
    if (done.request != Request::fetch_add) return;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < call; ++i) {
        if (task().calls[i].request == Request::fetch_add) before += addend(i);
    }
    if (word(result_at + call * 8) != before) fail("an Atomic returned another value");
}

void IbEnd::on_received(const proto::ib::Completion& completion) {
    if (completion.status != proto::ib::CompletionStatus::success) {
        return fail("a receive completed in error");
    }
    if (completion.id != delivered_) fail("receives were used out of order");
    ++delivered_;
    // The length, and the content or the immediate data, show which call it was.
    for (std::size_t i = 0; i < task().calls.size(); ++i) {
        const IbCall& call = task().calls[i];
        if (!proto::ib::takes_receive(call.request) || completion.length != call.length) continue;
        const bool written = proto::ib::is_write(call.request);
        const std::size_t at =
            written ? target_at + i * place_size : receive_at + completion.id * place_size;
        if (written && completion.immediate != first_immediate + i) continue;
        if (!holds(at, pattern(call.length, i))) continue;
        if ((arrived_ >> i) != 0) fail("a message was delivered twice, or out of order");
        arrived_ = static_cast<std::uint8_t>(arrived_ | 1U << i);
        return;
    }
    fail("a message was delivered that nobody sent");
}

bool IbEnd::holds(std::size_t at, const Memory& bytes) const {
    return std::equal(bytes.begin(), bytes.end(),
                      memory_.begin() + static_cast<std::ptrdiff_t>(at));
}

std::uint64_t IbEnd::word(std::size_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, memory_.data() + at, sizeof word);
    return word;
}

/// At B: whether the call was executed, as far as memory and completions show it.
bool IbEnd::is_executed(std::size_t call) const {
    const IbCall& asked = task().calls[call];
    if (proto::ib::takes_receive(asked.request)) return (arrived_ >> call & 1) != 0;
    if (asked.request == Request::write) {
        return holds(target_at + call * place_size, pattern(asked.length, call));
    }
    if (asked.request == Request::fetch_add) return (word(word_at) >> (8 * call) & 0xFF) == 1;
    return true;
}

bool IbEnd::done() const {
    return side_ == 1 || completed_ == task().calls.size();
}

std::uint64_t IbEnd::replays() const {
    return counters().went_back + counters().timeouts;
}

const char* IbEnd::contradiction(const IbEnd& a, const IbEnd& b) {
    if (a.task().transport == proto::ib::Transport::uc) return nullptr;
    for (std::size_t i = 0; i + a.failed_ < a.completed_; ++i) {
        if (!b.is_executed(i)) return "a call succeeded that was not done";
    }
    return nullptr;
}

bool IbEnd::agree(const IbEnd& a, const IbEnd& b) {
    if (a.task().transport == proto::ib::Transport::uc && !a.task().all_arrive) return true;
    for (std::size_t i = 0; i < a.task().calls.size() - a.failed_; ++i) {
        if (!b.is_executed(i)) return false;
    }
    return true;
}

Fingerprint::Value IbEnd::fingerprint() const {
    Fingerprint sink;
    port_.fingerprint(now_, sink);
    for (std::size_t at = 0; at < memory_.size(); at += 8) sink.add(word(at));
    sink.add(side_);
    sink.add(offered_);
    sink.add(completed_);
    sink.add(failed_);
    sink.add(delivered_);
    sink.add(arrived_);
    sink.add(violation_ != nullptr);
    return sink.value();
}

std::string IbEnd::news(const IbEnd& before, const IbEnd& after) {
    if (after.delivered_ != before.delivered_) {
        return "message " + std::to_string(std::bit_width(unsigned{after.arrived_}));
    }
    if (after.completed_ == before.completed_) return {};
    return "done " + std::to_string(after.completed_);
}

template class PairSearch<IbEnd>;

}  // namespace wireproof::lab
