#include "tests/hostile/conversation.hpp"

#include <fmt/format.h>

#include <array>

namespace wireproof::hostile {
namespace {

using proto::ib::Request;

constexpr std::uint32_t receive_size = 2 * Conversation::longest;

}  // namespace

Conversation::Conversation(proto::ib::Port& port, const Config& config)
    : port_(&port), config_(config), dice_(config.seed) {
    sent_ = port.add_completion_queue(2 * asked_max);
    received_ = port.add_completion_queue(2 * asked_max);
    const auto number =
        port.add_queue_pair({.transport = config.transport,
                             .domain = config.domain,
                             .send_completions = sent_,
                             .receive_completions = received_,
                             .limits = {.sends = asked_max, .receives = asked_max, .pieces = 1}});
    WIREPROOF_CHECK(number.has_value());
    number_ = *number;
}

void Conversation::connect(const proto::ib::Connection& connection) {
    draw();
    if (port_->queue_pair(number_)->state() != proto::ib::QueuePairState::reset) {
        const auto reset = port_->modify(number_, {.state = proto::ib::QueuePairState::reset});
        WIREPROOF_CHECK(reset == proto::ib::ModifyStatus::done);
    }
    sends_.oldest = sends_.next;
    receives_.oldest = receives_.next;
    const auto init = port_->modify(
        number_,
        proto::ib::to_init({.remote_write = true, .remote_read = true, .remote_atomic = true}));
    const auto ready = proto::ib::connect(*port_, number_, connection);
    WIREPROOF_CHECK(init == proto::ib::ModifyStatus::done &&
                    ready == proto::ib::ModifyStatus::done);
}

bool Conversation::failed() const {
    const proto::ib::QueuePairState state = port_->queue_pair(number_)->state();
    return state == proto::ib::QueuePairState::error || state == proto::ib::QueuePairState::sqe;
}

proto::ib::Piece Conversation::own_piece(std::uint32_t length) {
    const auto at = dice_.below(config_.own.length - length + 1);
    return {config_.own.address + at, length, config_.own.key};
}

void Conversation::go_on() {
    const proto::ib::Piece into = own_piece(receive_size);
    const auto received =
        port_->post_receive(number_, {.id = receives_.next, .pieces = std::span(&into, 1)});
    if (received == proto::ib::PostStatus::accepted) ++receives_.next;
    constexpr std::array requests = {
        Request::send, Request::send_immediate, Request::write,       Request::write_immediate,
        Request::read, Request::fetch_add,      Request::compare_swap};
    constexpr std::size_t of_uc = 4;
    proto::ib::WorkTerms terms{.id = sends_.next};
    const bool rc = config_.transport == proto::ib::Transport::rc;
    terms.request = requests[dice_.below(rc ? requests.size() : of_uc)];
    const auto length =
        proto::ib::is_atomic(terms.request) ? 8U : static_cast<std::uint32_t>(dice_.below(longest));
    std::uint64_t at = dice_.below(config_.remote.length - length + 1);
    if (proto::ib::is_atomic(terms.request)) at = at / 8 * 8;
    terms.remote_address = config_.remote.address + at;
    terms.remote_key = config_.remote.key;
    const proto::ib::Piece piece = own_piece(length);
    const auto posted = port_->post_send(number_, {.terms = terms, .pieces = std::span(&piece, 1)});
    if (posted == proto::ib::PostStatus::accepted) ++sends_.next;
}

void Conversation::draw() {
    while (const auto one = port_->poll(sent_)) on_completion(*one, sends_, "request");
    while (const auto one = port_->poll(received_)) {
        on_completion(*one, receives_, "receive");
        if (one->length > receive_size && violation_.empty()) {
            violation_ =
                fmt::format("a receive of {} bytes completed with {}", receive_size, one->length);
        }
    }
}

void Conversation::on_completion(const proto::ib::Completion& completion, Ledger& ledger,
                                 const char* what) {
    const bool next = completion.id == ledger.oldest && ledger.oldest < ledger.next;
    if (!next && violation_.empty()) {
        violation_ = fmt::format("queue pair {}: {} {} completed ({}), but {} to {} were asked for",
                                 number_, what, completion.id, name_of(completion.status),
                                 ledger.oldest, ledger.next);
    }
    ++ledger.oldest;
    if (completion.status == proto::ib::CompletionStatus::success) ++completed_;
}

}  // namespace wireproof::hostile
