#include "wireproof/lab/worlds/ib_world_user.hpp"

#include <algorithm>

#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::lab {
namespace {

using proto::ib::Request;

constexpr std::uint32_t domain = 1;
constexpr std::uint32_t first_immediate = 7000;

// The memory of a line at each node: bytes to send, bytes that the peer writes, results of its own
// Reads, received bytes; then a word for the peer's Atomics, and the results of its own.
constexpr std::size_t area = IbUser::asks_max * IbUser::place_size;
constexpr std::size_t send_at = 0;
constexpr std::size_t target_at = area;
constexpr std::size_t landing_at = 2 * area;
constexpr std::size_t receive_at = 3 * area;
constexpr std::size_t source_at = 4 * area;
constexpr std::size_t word_at = 5 * area;
constexpr std::size_t result_at = word_at + 8;
constexpr std::size_t memory_size = result_at + 8 * IbUser::asks_max;

constexpr std::size_t source_seed = 999;

std::vector<std::byte> pattern(std::size_t size, std::size_t seed) {
    std::vector<std::byte> bytes(size);
    std::uint64_t state = mix64(seed);
    for (std::size_t i = 0; i < size; ++i) {
        if (i % 8 == 0) state = mix64(state);
        bytes[i] = static_cast<std::byte>(state >> (8 * (i % 8)));
    }
    return bytes;
}

/// The value that the nth of 16 Atomics adds. Its four bits count how often it was executed.
std::uint64_t addend(std::size_t ask) {
    return std::uint64_t{1} << (4 * ask);
}

}  // namespace

IbUser::IbUser(const IbLine& line, std::size_t node, proto::ib::Port& port)
    : line_(&line), node_(node), memory_(memory_size) {
    const auto put = [this](std::size_t at, const std::vector<std::byte>& bytes) {
        std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (std::size_t i = 0; i < asks().size(); ++i) put(send_at + i * place_size, content(node, i));
    put(source_at, pattern(place_size, source_seed));
    for (const IbAsk& ask : others_asks()) receives_wanted_ += takes_receive(ask.request) ? 1U : 0U;

    sends_ = port.add_completion_queue(64);
    receives_ = port.add_completion_queue(64);
    key_ = port.memory()
               .add_region({.domain = domain,
                            .address = base * line.number,
                            .memory = memory_,
                            .access = {true, true, true, true, false}})
               .value();
    const bool added =
        port.add_queue_pair({.transport = line.transport,
                             .number = line.number,
                             .domain = domain,
                             .send_completions = sends_,
                             .receive_completions = receives_,
                             .limits = {.sends = asks_max, .receives = asks_max, .pieces = 2},
                             .credits = line.credits,
                             .ack_every = std::min(8U, line.in_flight_max),
                             .in_flight_max = line.in_flight_max,
                             .ack_delay = line.ack_delay,
                             .acks_unasked = line.acks_unasked,
                             .backs_off = line.backs_off})
            .has_value();
    WIREPROOF_CHECK(added);
    const auto init = port.modify(
        line.number,
        proto::ib::to_init({.remote_write = true, .remote_read = true, .remote_atomic = true}));
    const auto ready = proto::ib::connect(port, line.number,
                                          {.peer = PeerId{static_cast<std::uint16_t>(1 - node)},
                                           .path_mtu = line.path_mtu,
                                           .dest_queue_pair = line.number,
                                           .receive_psn = line.first_psn[1 - node],
                                           .send_psn = line.first_psn[node],
                                           .max_dest_rd_atomic = line.rd_atomic,
                                           .max_rd_atomic = line.rd_atomic,
                                           .min_rnr_timer = line.rnr_timer,
                                           .timeout = line.timeout,
                                           .retry_count = line.retry_count,
                                           .congestion = line.congestion});
    WIREPROOF_CHECK(init == proto::ib::ModifyStatus::done &&
                    ready == proto::ib::ModifyStatus::done);
}

std::vector<std::byte> IbUser::content(std::size_t node, std::size_t ask) const {
    const std::size_t seed = (line_->number * 2 + node) * asks_max + ask;
    return pattern(line_->asks[node][ask].length, seed);
}

bool IbUser::holds(std::size_t at, const std::vector<std::byte>& bytes) const {
    return std::equal(bytes.begin(), bytes.end(),
                      memory_.begin() + static_cast<std::ptrdiff_t>(at));
}

std::uint64_t IbUser::word(std::size_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, memory_.data() + at, sizeof word);
    return word;
}

void IbUser::fail(const std::string& what) {
    if (violation_.empty()) {
        violation_ = what + " (node " + std::to_string(node_) + ", queue pair " +
                     std::to_string(line_->number) + ")";
    }
}

void IbUser::go_on(proto::ib::Port& port) {
    const std::uint64_t own = base * line_->number;
    if (posted_ < receives_wanted_) {
        const std::size_t at = receive_at + posted_ * place_size;
        // In two pieces, with the border at any place.
        constexpr auto longest = static_cast<std::uint32_t>(place_size);
        const std::uint32_t border = static_cast<std::uint32_t>(37 * posted_ + 100);
        const std::array pieces = {proto::ib::Piece{own + at, border, key_},
                                   proto::ib::Piece{own + at + border, longest - border, key_}};
        if (port.post_receive(line_->number, {.id = posted_, .pieces = pieces}) ==
            proto::ib::PostStatus::accepted) {
            ++posted_;
        }
    }
    if (asked_ == asks().size()) return;
    const std::size_t n = asked_;
    const IbAsk& ask = asks()[n];
    proto::ib::WorkTerms terms{.id = n,
                               .request = ask.request,
                               .signalled = ask.signalled,
                               .fence = ask.fence,
                               .immediate = first_immediate + static_cast<std::uint32_t>(n),
                               .remote_address = own + target_at + n * place_size,
                               .remote_key = key_};
    proto::ib::Piece local{own + send_at + n * place_size, ask.length, key_};
    if (ask.request == Request::read) {
        terms.remote_address = own + source_at;
        local.address = own + landing_at + n * place_size;
    }
    if (proto::ib::is_atomic(ask.request)) {
        terms.remote_address = own + word_at;
        terms.swap_or_add = addend(n);
        local = {own + result_at + 8 * n, 8, key_};
    }
    if (port.post_send(line_->number, {.terms = terms, .pieces = std::span(&local, 1)}) ==
        proto::ib::PostStatus::accepted) {
        ++asked_;
    }
}

void IbUser::draw(proto::ib::Port& port) {
    while (const auto completion = port.poll(sends_)) on_sent(*completion);
    while (const auto completion = port.poll(receives_)) on_received(*completion);
}

void IbUser::on_sent(const proto::ib::Completion& completion) {
    const bool well = completion.status == proto::ib::CompletionStatus::success;
    const auto n = static_cast<std::size_t>(completion.id);
    if (n < ended_ || n >= asked_) return fail("a request completed twice, or was never asked");
    // Work between two reported completions must have succeeded without a completion.
    for (; ended_ < n; ++ended_) {
        if (asks()[ended_].signalled || failed_ > 0) fail("a completion is missing");
        check_well(ended_);
    }
    ++ended_;
    if (well && failed_ > 0) fail("a request succeeded behind one that failed");
    if (well) return check_well(n);
    const bool exhausted = completion.status == proto::ib::CompletionStatus::retry_exceeded;
    if (failed_ == 0 && !exhausted && completion.status != proto::ib::CompletionStatus::flushed) {
        fail("a request failed for no reason: " + std::string(name_of(completion.status)));
    }
    ++failed_;
}

void IbUser::check_well(std::size_t n) {
    const IbAsk& ask = asks()[n];
    if (ask.request == Request::read &&
        !holds(landing_at + n * place_size, pattern(ask.length, source_seed))) {
        fail("a Read returned wrong bytes");
    }
    if (ask.request != Request::fetch_add) return;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (asks()[i].request == Request::fetch_add) before += addend(i);
    }
    if (word(result_at + 8 * n) != before) fail("an Atomic returned another value");
}

bool IbUser::is_message(std::size_t ask, const proto::ib::Completion& completion) const {
    const IbAsk& asked = others_asks()[ask];
    if (!takes_receive(asked.request) || asked.length != completion.length) return false;
    const auto immediate = first_immediate + static_cast<std::uint32_t>(ask);
    if (has_immediate(asked.request) != completion.immediate.has_value()) return false;
    if (completion.immediate && *completion.immediate != immediate) return false;
    const std::size_t at = is_write(asked.request)
                               ? target_at + ask * place_size
                               : receive_at + static_cast<std::size_t>(completion.id) * place_size;
    return holds(at, content(1 - node_, ask));
}

void IbUser::on_received(const proto::ib::Completion& completion) {
    if (completion.status == proto::ib::CompletionStatus::flushed) return;
    if (completion.status != proto::ib::CompletionStatus::success) return fail("a receive failed");
    if (completion.id != delivered_) fail("receives were used out of order");
    ++delivered_;
    for (; next_message_ < others_asks().size(); ++next_message_) {
        const bool expected = takes_receive(others_asks()[next_message_].request);
        if (is_message(next_message_, completion)) {
            ++next_message_;
            return;
        }
        if (expected && line_->transport == proto::ib::Transport::rc) break;  // none may be missing
    }
    fail("a message was delivered that is not the next one");
}

void IbUser::note_sent(const proto::ib::Port& port) {
    sent_before_ = sent_in_rounds(port);
}

// A packet that asks a silent responder again leaves alone, and belongs to no round.
std::uint64_t IbUser::sent_in_rounds(const proto::ib::Port& port) const {
    const proto::ib::QueuePairCounters& counters = port.queue_pair(line_->number)->counters;
    return counters.sent - counters.silences;
}

// A sender makes at most as many rounds as retries are allowed, and in each round sends at most
// what may be outstanding. A queue pair that backs off sends all of it once, and then one packet in
// each round.
void IbUser::check_resends(const proto::ib::Port& port) {
    const Unanswered oldest = port.unanswered(line_->number);
    if (oldest.since != unanswered_since_) {
        unanswered_since_ = oldest.since;
        sent_unanswered_ = sent_before_;
    }
    if (oldest.since == never) return;
    const std::uint64_t sent = sent_in_rounds(port) - sent_unanswered_;
    // The PSNs of a Read's responses do not count as in flight, so these packets are allowed in
    // addition.
    const std::uint64_t round =
        line_->in_flight_max +
        line_->rd_atomic * proto::ib::packets_of(place_size, line_->path_mtu);
    const std::uint64_t most = line_->backs_off ? round + oldest.times - 1 : round * oldest.times;
    if (oldest.times > line_->retry_count) fail("a packet was sent again more often than allowed");
    if (sent > most) fail("too many packets left while one was not answered");
}

bool IbUser::all_answered(const proto::ib::Port& port) const {
    return asked_ == asks().size() && port.queue_pair(line_->number)->sends.empty();
}

void IbUser::check_end(const IbUser& other, const proto::ib::Port& port) {
    const proto::ib::QueuePairCore& own = *port.queue_pair(line_->number);
    if (!own.sends.empty()) fail("a request has no completion");
    // Work that succeeded without a completion after the last reported one.
    for (; ended_ < asked_; ++ended_) {
        if (asks()[ended_].signalled || failed_ > 0) fail("a completion is missing");
        check_well(ended_);
    }
    const std::size_t well = asked_ - failed_;
    std::size_t messages = 0;
    for (std::size_t i = 0; i < asks().size(); ++i) {
        const Request request = asks()[i].request;
        const bool succeeded = i < well && line_->transport == proto::ib::Transport::rc;
        if (takes_receive(request) && i < well) ++messages;
        if (succeeded && is_write(request) &&
            !other.holds(target_at + i * place_size, content(node_, i))) {
            fail("a Write succeeded that was not done");
        }
        if (request != Request::fetch_add) continue;
        const std::uint64_t times = other.word(word_at) >> (4 * i) & 0xF;
        if (times > 1 || (succeeded && times == 0)) fail("an Atomic was not done exactly once");
    }
    if (line_->transport == proto::ib::Transport::rc ? other.delivered_ < messages
                                                     : other.delivered_ > messages) {
        fail("the number of delivered messages does not fit the completions");
    }
    if (!holds(source_at, pattern(place_size, source_seed))) fail("memory changed unasked");
    for (std::size_t i = 0; i < asks().size(); ++i) {
        if (!holds(send_at + i * place_size, content(node_, i))) fail("memory changed unasked");
    }
}

}  // namespace wireproof::lab
