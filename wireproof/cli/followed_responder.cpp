#include "wireproof/cli/followed_responder.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wireproof/cli/verbs.hpp"

namespace wireproof::cli {
namespace {

using ib::Operation;
using ib::Verb;

constexpr std::uint32_t queue_pair = 2;
constexpr Instant now{};

// Two gigabytes of addresses, the longest message, on four megabytes of memory: nobody looks at
// what is written.
Bytes every_address() {
    constexpr std::size_t size = ib::message_max;
    constexpr std::size_t part = 4 << 20;
    static void* const place = [] {
        void* const base = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        const int memory = ::memfd_create("wireproof", MFD_CLOEXEC);
        bool good = base != MAP_FAILED && memory >= 0 && ::ftruncate(memory, part) == 0;
        for (std::size_t at = 0; good && at < size; at += part) {
            good = ::mmap(static_cast<std::byte*>(base) + at, part, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED, memory, 0) != MAP_FAILED;
        }
        if (memory >= 0) ::close(memory);
        if (!good) throw Failure("not enough memory to follow connections");
        return base;
    }();
    return {static_cast<std::byte*>(place), size};
}

constexpr std::uint64_t first_address = 0x10000;

std::uint32_t psns_of(const ib::Packet& request, std::size_t path_mtu) {
    if (request.opcode->verb != Verb::read_request) return 1;
    return static_cast<std::uint32_t>(ib::packets_of(request.headers.reth.length, path_mtu));
}

}  // namespace

FollowedResponder::Outcome FollowedResponder::on_request(const ib::Packet& request) {
    const ib::Psn psn = request.bth().psn;
    if (!port_ && (!request.opcode->begins() || !start(psn))) return {};
    post_receives();
    if (transport_ == ib::Transport::rc) {
        moments_.push_back({psn, *port_});
        if (moments_.size() > moments_max) moments_.pop_front();
    }
    const ib::QueuePairCounters before = port_->queue_pair(queue_pair)->counters;
    port_->on_frame(now, {.bytes = rewritten(request), .integrity = Integrity::intact});
    take_answers();
    const ib::QueuePairCore& core = *port_->queue_pair(queue_pair);
    const ib::QueuePairCounters& after = core.counters;

    Outcome outcome;
    outcome.duplicate = after.duplicates > before.duplicates;
    outcome.abandoned = after.abandoned > before.abandoned;
    const bool gap = after.gaps > before.gaps;
    if (gap && !in_gap_) outcome.missing_from = expected_;
    const bool executed = after.executed > before.executed;
    in_gap_ = (in_gap_ || gap) && !executed;
    if (executed) expected_ = ib::wire_circle.advance(psn, psns_of(request, path_mtu_));
    // A request that no peer may make: the next message is the first again.
    if (core.state() == ib::QueuePairState::error) port_.reset();
    return outcome;
}

bool FollowedResponder::start(ib::Psn psn) {
    ib::Port port({.path_mtu = path_mtu_});
    const ib::Access all{
        .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};
    const auto key = port.memory().add_region(
        {.address = first_address, .memory = every_address(), .access = all});
    completions_ = port.add_completion_queue(4);
    const auto number = port.add_queue_pair({.transport = transport_,
                                             .number = queue_pair,
                                             .send_completions = completions_,
                                             .receive_completions = completions_,
                                             .limits = {.sends = 1, .receives = 2, .pieces = 1}});
    if (!key || !number) return false;
    memory_key_ = *key;
    port.modify(
        queue_pair,
        {.state = ib::QueuePairState::init, .partition_index = 0, .port = 1, .access = all});
    ib::QueuePairChange ready{.state = ib::QueuePairState::rtr,
                              .address = PeerId{0},
                              .path_mtu = path_mtu_,
                              .dest_queue_pair = queue_pair,
                              .receive_psn = psn};
    if (transport_ == ib::Transport::rc) {
        // Answers are taken at once, and nobody misses one that cannot be given again.
        ready.max_dest_rd_atomic = 1;
        ready.min_rnr_timer = 0;
    }
    if (port.modify(queue_pair, ready) != ib::ModifyStatus::done) return false;
    port_ = std::move(port);
    expected_ = psn;
    in_gap_ = false;
    moments_.clear();
    return true;
}

void FollowedResponder::post_receives() {
    const ib::Piece all{first_address, static_cast<std::uint32_t>(ib::message_max), memory_key_};
    while (port_->post_receive(queue_pair, {.pieces = std::span(&all, 1)}) ==
           ib::PostStatus::accepted) {
    }
}

void FollowedResponder::take_answers() {
    room_.resize(ib::packet_max(path_mtu_));
    TxFrame answer;
    do {
        answer.open(room_, {.frame_max = room_.size()});
    } while (port_->poll_transmit(now, answer));
    while (port_->poll(completions_)) {
    }
    while (port_->next_delivery()) {
    }
}

// To our queue pair and memory. A key that a Send ends is none of ours; the rest of it is the same.
ConstBytes FollowedResponder::rewritten(const ib::Packet& request) {
    ib::Headers headers = request.headers;
    headers.bth.dest_qp = queue_pair;
    headers.bth.partition = ib::default_partition;
    headers.reth.rkey = headers.atomic.rkey = memory_key_;
    headers.reth.address = first_address;
    headers.atomic.address = first_address + headers.atomic.address % sizeof(std::uint64_t);
    if (request.opcode->has(ib::Extended::invalidate)) {
        const bool ends = request.opcode->part == ib::Part::last;
        headers.bth.opcode =
            ib::opcode_of(transport_, ends ? Operation::send_last : Operation::send_only);
    }
    room_.resize(ib::packet_max(path_mtu_) + request.payload.size());
    TxFrame frame;
    frame.open(room_, {.frame_max = room_.size()});
    encode(headers, std::span(&request.payload, 1), frame);
    return frame.gather_in_place();
}

void FollowedResponder::on_refusal(ib::Psn psn) {
    if (!expected_ || psn == *expected_) return;
    // The first time that it was sent, for another one may have been taken for a duplicate.
    const auto moment = std::ranges::find(moments_, psn, &Moment::psn);
    if (moment == moments_.end()) {
        start(psn);
        return;
    }
    port_ = std::move(moment->port);
    expected_ = psn;
    in_gap_ = false;
    moments_.erase(moment, moments_.end());
}

void FollowedResponder::on_acknowledge(ib::Psn psn) {
    if (expected_ && ib::difference(psn, *expected_) >= 0) port_.reset();
}

}  // namespace wireproof::cli
