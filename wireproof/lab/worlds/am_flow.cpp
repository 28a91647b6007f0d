#include "wireproof/lab/worlds/am_flow.hpp"

#include <algorithm>

#include "wireproof/lab/common/am_content.hpp"

namespace wireproof::lab {
namespace {

using Step = AmOperation::What;
using Answer = AmOperation::Answer;

constexpr std::uint64_t of_question = 0;
constexpr std::uint64_t of_answer = 1;

}  // namespace

AmFlow::AmFlow(const AmTrafficPlan& plan, const am::Config& config, std::uint64_t seed)
    : plan_(plan),
      config_(config),
      seed_(seed),
      random_(mix64(seed)),
      memory_(plan.threads + 2, plan.bytes_max, seed),
      packets_left_(plan.packets),
      threads_(plan.threads) {
    for (std::size_t i = 0; i < am::channel_count; ++i) {
        numbering_[i].next = config.first_number[i];
    }
}

void AmFlow::expect(bool condition, const char* sentence, std::uint64_t number) {
    if (condition || !violation_.empty()) return;
    violation_ = std::string(sentence) + " (operation " + std::to_string(number) + ")";
}

std::uint64_t AmFlow::key(const AmOperation& operation, std::uint64_t part) const {
    return mix64(seed_ ^ mix64(2 * operation.number + part));
}

am::HandlerTable AmFlow::handlers() {
    am::HandlerTable table;
    for (std::uint64_t i = 1; i <= AmOperation::handlers; ++i) {
        table.set(static_cast<am::HandlerId>(i), true);
    }
    return table;
}

// Choice of the operations.

std::optional<AmOperation> AmFlow::draw() {
    if (packets_left_ <= 0) return std::nullopt;
    AmOperation operation;
    const double all = plan_.requests + plan_.stores + plan_.gets;
    const double which = random_.uniform() * all;
    const auto length = [this] {  // small or large with the same chance; all remainders
        const std::uint64_t words_max = plan_.message_max / 4;
        const std::uint64_t most = random_.chance(0.5) ? words_max : 4;
        const std::uint64_t bytes = 4 * random_.below(std::min(most, words_max) + 1);
        return static_cast<std::size_t>(bytes - std::min(bytes, next_number_ % 7 % 4));
    };
    if (random_.chance(plan_.answered)) operation.answer = Answer::reply;
    operation.answer_length = length();
    if (which >= plan_.requests) {
        operation.what = which < plan_.requests + plan_.stores ? Step::store : Step::get;
        const auto slot = memory_.claim();
        if (!slot) return std::nullopt;
        operation.slot = *slot;
    }
    operation.number = next_number_++;
    if (operation.what != Step::request) {
        shape_transfer(operation);
    } else {
        operation.length = length();
        if (random_.chance(plan_.refused)) operation.answer = Answer::refuse;
        packets_left_ -= 1;
    }
    if (operation.answer != Answer::none) --packets_left_;
    return operation;
}

void AmFlow::shape_transfer(AmOperation& operation) {
    const double shape = random_.uniform();
    const std::uint64_t most = shape < 0.4 ? config_.data_max() : plan_.bytes_max;
    operation.bytes = shape < 0.1 ? 0 : random_.below(std::min(most, plan_.bytes_max) + 1);
    if (random_.chance(0.1)) operation.bytes = std::min(config_.chunk_bytes(), plan_.bytes_max);
    operation.offset = random_.below(plan_.bytes_max - operation.bytes + 1);
    if (random_.chance(plan_.refused)) {
        const bool names_none = operation.what == Step::store && random_.chance(0.5);
        operation.refusal = names_none ? am::Reason::no_handler : am::Reason::forbidden;
    }
    packets_left_ -= 1 + static_cast<std::int64_t>(operation.bytes / config_.data_max());
    if (operation.what == Step::store) {
        memory_.fill_outbox(operation.slot, operation.bytes, key(operation, of_question));
    }
}

bool AmFlow::post(am::Connection& connection) {
    bool more = false;
    for (auto& next : threads_) {
        for (std::uint32_t i = 0;; ++i) {
            if (!next) next = draw();
            if (!next) break;
            if (i == plan_.burst) {
                more = true;
                break;
            }
            const am::PostStatus status = post(*next, connection);
            if (status == am::PostStatus::window_full) break;
            expect(status == am::PostStatus::accepted, "a call was not accepted", next->number);
            if (status != am::PostStatus::accepted) break;
            if (next->what != Step::request) transfers_[next->number] = *next;
            // The engine keeps a copy of a short store, so the user may change the source at once.
            const bool copied = next->what == Step::store && next->bytes == opening_bytes(*next);
            if (copied) memory_.spoil_outbox(next->slot);
            posted_.push_back(*next);
            next.reset();
        }
    }
    return more;
}

am::PostStatus AmFlow::post(const AmOperation& operation, am::Connection& connection) {
    switch (operation.what) {
        case Step::request: {
            std::vector<std::byte> question(operation.length);
            Content(key(operation, of_question)).write(question);
            return connection.request(operation.handler(), question);
        }
        case Step::store:
            return connection.store({.address = operation.refusal == am::Reason::forbidden
                                                    ? memory_.nowhere()
                                                    : memory_.inbox_address(operation.slot),
                                     .source = memory_.outbox(operation.slot, operation.bytes),
                                     .handler = operation.handler(),
                                     .argument = operation.argument(),
                                     .tag = operation.number});
        case Step::get:
            return connection.get({.address = operation.is_refused()
                                                  ? memory_.nowhere()
                                                  : memory_.shelf_address(operation.offset),
                                   .destination = memory_.landing(operation.slot, operation.bytes),
                                   .tag = operation.number});
    }
    return am::PostStatus::not_allowed;
}

// Packets on the wire.

void AmFlow::check_number(am::Channel channel, const am::Header& header) {
    Numbering& numbering = numbering_[static_cast<std::size_t>(channel)];
    expect(header.number == numbering.next, "a number is out of turn", header.number);
    if (header.kind == am::Kind::chunk) {
        if (numbering.packets_left == 0) numbering.packets_left = header.count;
        if (--numbering.packets_left > 0) return;
    }
    const std::uint32_t span = header.kind == am::Kind::chunk ? header.count : 1;
    numbering.next =
        static_cast<std::uint32_t>((std::uint64_t{header.number} + span) % config_.modulus);
}

std::uint64_t AmFlow::opening_bytes(const AmOperation& transfer) const {
    return transfer.what == Step::store
               ? std::min<std::uint64_t>(transfer.bytes, config_.open_bytes)
               : 0;
}

// Decides by the first packet, which leaves before the other packets with the same number.
bool AmFlow::is_last_chunk(const am::Header& header, const AmOperation& transfer) const {
    return header.offset % config_.chunk_bytes() == 0 &&
           transfer.bytes - opening_bytes(transfer) - header.offset <= config_.chunk_bytes();
}

void AmFlow::on_asking(const am::Header& header) {
    check_number(am::Channel::request, header);
    if (header.kind == am::Kind::chunk) {
        const AmOperation& store = stores_[header.id];
        if (is_last_chunk(header, store) && !store.is_refused()) due_at_target_.push_back(store);
        return;
    }
    const AmOperation operation = take(posted_, "a packet left that nobody posted");
    constexpr std::array kinds = {am::Kind::request, am::Kind::open, am::Kind::get_request};
    expect(header.kind == kinds[static_cast<std::size_t>(operation.what)],
           "calls left in another order", operation.number);
    const bool is_store = operation.what == Step::store;
    const bool chunks_follow = is_store && operation.bytes > opening_bytes(operation);
    expect(header.in_place == (is_store && !chunks_follow),
           "a store's chunks are not where they should be", operation.number);
    if (chunks_follow) stores_[header.id] = operation;
    if (operation.what == Step::get) gets_[header.id] = operation;
    const bool whole = is_store && !chunks_follow && !operation.is_refused();
    if (operation.what == Step::request || whole) due_at_target_.push_back(operation);
}

void AmFlow::on_answering(const am::Header& header, ConstBytes data) {
    check_number(am::Channel::reply, header);
    if (header.kind == am::Kind::chunk) {
        const AmOperation& get = gets_[header.id];
        if (is_last_chunk(header, get)) due_answers_.push_back(get);
        return;
    }
    if (header.id == 0) {
        const auto refusal = am::RefusalBody::decode(data.first<am::RefusalBody::size>());
        if (refusal.what == static_cast<std::uint32_t>(am::Refusal::store) ||
            refusal.what == static_cast<std::uint32_t>(am::Refusal::note)) {
            return;
        }
        if (refusal.what == static_cast<std::uint32_t>(am::Refusal::get)) {
            due_answers_.push_back(gets_[refusal.id]);
            return;
        }
    }
    due_answers_.push_back(take(answered_, "a reply left that nobody gave"));
}

// Deliveries.

AmOperation AmFlow::take(std::deque<AmOperation>& queue, const char* what) {
    if (queue.empty()) {
        expect(false, what, 0);
        return {};
    }
    const AmOperation front = queue.front();
    queue.pop_front();
    return front;
}

void AmFlow::on_request(const am::Request& request, am::Connection& answering) {
    const AmOperation due = take(due_at_target_, "a request arrived that was not sent");
    expect(due.what == Step::request, "a request arrived before a store", due.number);
    expect(request.handler == due.handler() && request.arguments.size() == due.length &&
               Content(key(due, of_question)).is(request.arguments),
           "a request arrived out of order or changed", due.number);
    answer(due, answering);
}

void AmFlow::on_stored(const am::Stored& stored, am::Connection& answering) {
    const AmOperation due = take(due_at_target_, "a store arrived that was not sent");
    expect(due.what == Step::store, "a store arrived before a request", due.number);
    expect(stored.handler == due.handler() && stored.argument == due.argument() &&
               stored.memory.size() == due.bytes,
           "a store arrived out of order or changed", due.number);
    expect(due.bytes == 0 || (memory_.is_inbox(stored.memory, due.slot) &&
                              memory_.inbox_holds(due.slot, due.bytes, key(due, of_question))),
           "a store's handler ran before its bytes were there", due.number);
    answer(due, answering);
}

void AmFlow::answer(const AmOperation& operation, am::Connection& connection) {
    if (operation.answer == Answer::none) return;
    am::PostStatus status{};
    std::vector<std::byte> reply(operation.answer_length);
    Content(key(operation, of_answer)).write(reply);
    if (operation.answer == Answer::refuse) {
        status = connection.refuse(AmOperation::missing_handler);
    } else {
        status = connection.reply(operation.answer_handler(), reply);
    }
    expect(status == am::PostStatus::accepted, "a reply was not accepted", operation.number);
    expect(connection.reply(operation.answer_handler(), reply) == am::PostStatus::not_allowed,
           "a second reply was accepted", operation.number);
    answered_.push_back(operation);
    ++answers_;
}

void AmFlow::on_reply(const am::Reply& reply) {
    const AmOperation due = take(due_answers_, "a reply arrived that was not sent");
    expect(due.what != Step::get && due.answer == Answer::reply, "a reply arrived out of order",
           due.number);
    expect(reply.handler == due.answer_handler() && reply.arguments.size() == due.answer_length &&
               Content(key(due, of_answer)).is(reply.arguments),
           "a reply arrived out of order or changed", due.number);
}

void AmFlow::on_refused(const am::Refused& refused) {
    const AmOperation due = take(due_answers_, "a refusal arrived that was not sent");
    expect(due.what != Step::get && due.answer == Answer::refuse &&
               refused.handler == AmOperation::missing_handler &&
               refused.reason == am::Reason::no_handler,
           "a refusal arrived out of order or changed", due.number);
}

AmOperation AmFlow::take_transfer(std::uint64_t tag, Step what) {
    const auto found = transfers_.find(tag);
    const bool expected = found != transfers_.end() && found->second.what == what;
    expect(expected, "a transfer ended that was not under way", tag);
    if (!expected) return {};
    const AmOperation transfer = found->second;
    transfers_.erase(found);
    return transfer;
}

void AmFlow::on_store_ended(const am::StoreEnded& ended) {
    const AmOperation store = take_transfer(ended.tag, Step::store);
    expect(ended.reason == store.refusal, "a store ended with another reason", ended.tag);
    expect(
        store.is_refused() || memory_.inbox_holds(store.slot, store.bytes, key(store, of_question)),
        "a store ended before its bytes were there", ended.tag);
    memory_.spoil_outbox(store.slot);
    memory_.release(store.slot);
}

void AmFlow::on_get_ended(const am::GetEnded& ended) {
    const AmOperation get = take_transfer(ended.tag, Step::get);
    expect(ended.reason == get.refusal, "a get ended with another reason", ended.tag);
    expect(get.is_refused() || memory_.landing_holds(get.slot, get.bytes, get.offset),
           "a get ended before its bytes were there", ended.tag);
    const AmOperation due = take(due_answers_, "a get ended that was not answered");
    expect(due.what == Step::get && due.number == ended.tag, "a get ended out of order", ended.tag);
    memory_.release(get.slot);
}

std::string AmFlow::unfinished() const {
    const auto waits = [](const auto& next) { return next.has_value(); };
    if (packets_left_ > 0 || std::any_of(threads_.begin(), threads_.end(), waits)) {
        return "a call was never accepted";
    }
    if (!posted_.empty()) return "a call never left";
    if (!due_at_target_.empty()) return "a request or store never arrived";
    if (!answered_.empty() || !due_answers_.empty()) return "a reply never arrived";
    if (!transfers_.empty()) return "a transfer never ended";
    if (!memory_.as_expected()) return "memory changed after a transfer, or beside one";
    return {};
}

}  // namespace wireproof::lab
