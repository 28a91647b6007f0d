#include "wireproof/lab/search/search_am.hpp"

#include <algorithm>

#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint64_t inbox_address = 0x1000;
constexpr std::uint64_t source_address = 0x2000;
constexpr am::HandlerId request_handler{7};
constexpr am::HandlerId reply_handler{8};
constexpr am::HandlerId store_handler{9};
constexpr am::HandlerId missing_handler{10};

using What = AmCall::What;
using Program = std::vector<AmCall>;

am::Connection engine(am::Config config, std::size_t node, const am::MemoryTable& memory,
                      const am::HandlerTable& handlers) {
    config.node = static_cast<std::uint16_t>(node);
    config.peer = static_cast<std::uint16_t>(1 - node);
    am::Connection connection(config, memory);
    connection.bind_handlers(handlers);
    return connection;
}

std::array<std::byte, 4> word(std::size_t value) {
    std::array<std::byte, 4> bytes{};
    store_le<std::uint32_t>(bytes, static_cast<std::uint32_t>(value));
    return bytes;
}

std::size_t count(const Program& program, What what, bool answered_only = false) {
    return static_cast<std::size_t>(
        std::count_if(program.begin(), program.end(), [=](const AmCall& operation) {
            return operation.what == what && (operation.answered || !answered_only);
        }));
}

/// The call of this kind, if there is one. A program has at most one.
AmCall transfer_of(const Program& program, What what) {
    for (const AmCall& operation : program) {
        if (operation.what == what) return operation;
    }
    return {.what = what};
}

bool has_store_to_run(const Program& program) {
    return count(program, What::store) > 0 &&
           transfer_of(program, What::store).refusal == am::Reason::none;
}

/// The index in its program of the nth request, or of the nth answered request.
std::size_t place_of_request(const Program& program, std::size_t nth, bool answered_only = false) {
    std::size_t place = 0;
    for (;; ++place) {
        const AmCall& operation = program[place];
        if (operation.what != What::request || (answered_only && !operation.answered)) continue;
        if (nth-- == 0) return place;
    }
}

}  // namespace

/// The memory that stores write and gets read, for both nodes.
struct AmEnd::Arena {
    std::array<Image, 2> source;   // what stores send and gets read; never changes
    std::array<Image, 2> inbox{};  // by node
    std::array<Image, 2> landing{};
    std::array<am::MemoryTable, 2> tables;
    am::HandlerTable handlers;

    Arena() {
        handlers.set(store_handler, true);
        for (std::size_t node = 0; node < 2; ++node) {
            for (std::size_t i = 0; i < source[node].size(); ++i) {
                source[node][i] = static_cast<std::byte>(i * 7 + node * 100 + 1);
            }
            const bool fits = tables[node].add(inbox_address, inbox[node], {.write = true}) &&
                              tables[node].add(source_address, source[node], {.read = true});
            WIREPROOF_CHECK(fits);
        }
    }
};

am::Config am_search_config(am::Recovery recovery, std::uint32_t window, std::uint32_t modulus) {
    am::Config config = am::Config::sp2();
    config.recovery = recovery;
    config.packet_max = AmEnd::frame_max;
    config.message_max = 8;
    config.chunk_packets = 2;
    config.chunks_in_flight = 2;
    config.window = {window, window};
    config.modulus = modulus;
    config.first_number = {modulus - 1, modulus > 1 ? modulus - 2 : 0};
    config.reply_places = 2;
    config.stores_max = config.gets_max = config.get_slots = 1;
    config.save_bytes = 256;
    config.held_packets = std::max(2U, window);
    config.keepalive_after = Duration::nanoseconds(30);
    config.keepalive_max = Duration::nanoseconds(30);
    config.keepalive_limit = 16;
    config.cookie = 42;
    return config;
}

std::string scenario_engine(const am::Config& config, bool hasty) {
    const bool goes_back = config.recovery == am::Recovery::go_back_n;
    std::string text = goes_back ? "recovery = \"go_back_n\"\n" : "recovery = \"selective\"\n";
    text += "window = " + std::to_string(config.window[0]) + "\nchunk_packets = 1\n";
    text += "modulus = " + std::to_string(config.modulus) + "\n";
    text += "first_number = " + std::to_string(config.first_number[0]) + "\n";
    if (hasty) text += "keepalive_after_ns = 5000\n";
    return text;
}

AmEnd::AmEnd(const am::Config& config, std::size_t node, std::shared_ptr<const Shared> shared)
    : shared_(std::move(shared)),
      node_(node),
      connection_(engine(config, node, shared_->arena->tables[node], shared_->arena->handlers)) {}

std::array<AmEnd, 2> AmEnd::both(const am::Config& config, const AmPrograms& programs) {
    const auto shared = std::make_shared<const Shared>(Shared{programs, std::make_shared<Arena>()});
    return {AmEnd(config, 0, shared), AmEnd(config, 1, shared)};
}

void AmEnd::enter() const {
    shared_->arena->inbox[node_] = inbox_;
    shared_->arena->landing[node_] = landing_;
}

void AmEnd::leave() {
    inbox_ = shared_->arena->inbox[node_];
    landing_ = shared_->arena->landing[node_];
}

am::PostStatus AmEnd::post(am::Connection& connection) const {
    const AmCall& operation = program(node_)[posted_];
    if (operation.what == What::request) return connection.request(request_handler, word(posted_));
    Arena& arena = *shared_->arena;
    if (operation.what == What::store) {
        const bool forbidden = operation.refusal == am::Reason::forbidden;
        const bool missing = operation.refusal == am::Reason::no_handler;
        return connection.store({.address = forbidden ? source_address : inbox_address,
                                 .source = ConstBytes(arena.source[node_]).first(operation.bytes),
                                 .handler = missing ? missing_handler : store_handler,
                                 .argument = 5,
                                 .tag = 6});
    }
    const bool forbidden = operation.refusal == am::Reason::forbidden;
    return connection.get({.address = forbidden ? inbox_address : source_address,
                           .destination = Bytes(arena.landing[node_]).first(operation.bytes),
                           .tag = 7});
}

void AmEnd::offer_all() {
    for (; posted_ < program(node_).size(); ++posted_) {
        const am::PostStatus status = post(connection_);
        if (status == am::PostStatus::window_full) return;
        if (status != am::PostStatus::accepted) return fail("a call was not accepted");
    }
}

bool AmEnd::can_offer() const {
    if (posted_ == program(node_).size()) return false;
    am::Connection trial = connection_;
    return post(trial) == am::PostStatus::accepted;
}

void AmEnd::offer() {
    WIREPROOF_CHECK(post(connection_) == am::PostStatus::accepted);
    ++posted_;
}

std::optional<AmEnd::Frame> AmEnd::transmit() {
    enter();
    std::array<std::byte, frame_max> room{};
    TxFrame out;
    out.open(room, {.frame_max = frame_max, .carries_intact = true});
    if (!connection_.poll_transmit(now_, out)) return std::nullopt;
    Frame frame(out.size());
    out.gather(frame);
    leave();
    return frame;
}

RxVerdict AmEnd::receive(const Frame& frame, Arrives how) {
    enter();
    const Integrity integrity = how == Arrives::intact ? Integrity::intact : Integrity::damaged;
    const RxVerdict verdict = connection_.on_frame(now_, {frame, PeerId{0}, integrity});
    draw();
    leave();
    return verdict;
}

bool AmEnd::on_deadline() {
    if (connection_.next_deadline() > now_) return false;
    enter();
    connection_.on_deadline(now_);
    draw();
    leave();
    return true;
}

void AmEnd::wait() {
    advance(connection_.next_deadline());
    on_deadline();
}

void AmEnd::draw() {
    while (const auto delivery = connection_.next_delivery()) deliver(*delivery);
}

void AmEnd::deliver(const am::Delivery& delivery) {
    const Arena& arena = *shared_->arena;
    const auto same = [](const Image& arrived, const Image& sent, std::size_t bytes) {
        return std::equal(arrived.begin(), arrived.begin() + static_cast<std::ptrdiff_t>(bytes),
                          sent.begin());
    };
    if (const auto* request = std::get_if<am::Request>(&delivery)) return on_request(*request);
    if (const auto* reply = std::get_if<am::Reply>(&delivery)) return on_reply(*reply);
    if (std::holds_alternative<am::Stored>(delivery)) {
        const AmCall asked = transfer_of(program(other()), What::store);
        if (stored_ || !same(arena.inbox[node_], arena.source[other()], asked.bytes)) {
            fail("a store's handler ran twice, or before its bytes were there");
        }
        if (asked.refusal != am::Reason::none) fail("a handler ran for a store that was refused");
        stored_ = true;
    } else if (const auto* store = std::get_if<am::StoreEnded>(&delivery)) {
        if (store_ended_) fail("a store ended twice");
        const AmCall asked = transfer_of(program(node_), What::store);
        if (store->reason != asked.refusal) fail("a store ended with another reason");
        store_ended_ = true;
    } else if (const auto* get = std::get_if<am::GetEnded>(&delivery)) {
        const AmCall asked = transfer_of(program(node_), What::get);
        const bool brings = asked.refusal == am::Reason::none;
        if (get_ended_ ||
            (brings && !same(arena.landing[node_], arena.source[other()], asked.bytes))) {
            fail("a get ended twice, or before its bytes were there");
        }
        if (get->reason != asked.refusal) fail("a get ended with another reason");
        get_ended_ = true;
    } else {
        fail("a session ended, or a message was refused");
    }
}

void AmEnd::on_request(const am::Request& request) {
    const Program& asked = program(other());
    if (requests_ == count(asked, What::request)) return fail("one request too many");
    const std::size_t place = place_of_request(asked, requests_);
    if (!std::ranges::equal(request.arguments, word(place))) return fail("another request");
    ++requests_;
    if (!asked[place].answered) return;
    if (connection_.reply(reply_handler, word(place)) != am::PostStatus::accepted) {
        fail("a reply was not accepted");
    }
}

void AmEnd::on_reply(const am::Reply& reply) {
    const Program& own = program(node_);
    if (answers_ == count(own, What::request, true)) return fail("one reply too many");
    const std::size_t place = place_of_request(own, answers_, true);
    if (!std::ranges::equal(reply.arguments, word(place))) return fail("another reply");
    ++answers_;
}

bool AmEnd::done() const {
    const Program& own = program(node_);
    return posted_ == own.size() && answers_ == count(own, What::request, true) &&
           store_ended_ == (count(own, What::store) > 0) &&
           get_ended_ == (count(own, What::get) > 0) && connection_.idle();
}

bool AmEnd::all_heard(const AmEnd& from) const {
    const Program& asked = program(from.node_);
    return requests_ == count(asked, What::request) && stored_ == has_store_to_run(asked);
}

bool AmEnd::agree(const AmEnd& a, const AmEnd& b) {
    return a.all_heard(b) && b.all_heard(a);
}

const char* AmEnd::contradiction(const AmEnd& a, const AmEnd& b) {
    const auto ended_early = [](const AmEnd& from, const AmEnd& at) {
        return from.store_ended_ && !at.stored_ && has_store_to_run(from.program(from.node_));
    };
    if (ended_early(a, b) || ended_early(b, a)) {
        return "a store ended before its handler ran";
    }
    if ((a.done() && !b.all_heard(a)) || (b.done() && !a.all_heard(b))) {
        return "everything was acknowledged, but not everything was delivered";
    }
    return nullptr;
}

Fingerprint::Value AmEnd::fingerprint() const {
    Fingerprint sink;
    connection_.fingerprint(now_, sink);
    sink.add(node_);
    sink.add(posted_);
    sink.add(answers_);
    sink.add(requests_);
    sink.add(stored_);
    sink.add(store_ended_);
    sink.add(get_ended_);
    sink.add(violation_ != nullptr);
    sink.add_bytes(inbox_);
    sink.add_bytes(landing_);
    return sink.value();
}

FrameInfo AmEnd::describe(ConstBytes frame) const {
    return am::describe_of(config().layout)(frame);
}

std::string AmEnd::news(const AmEnd& before, const AmEnd& after) {
    if (after.requests_ > before.requests_) return "request " + std::to_string(after.requests_);
    if (after.answers_ > before.answers_) return "reply " + std::to_string(after.answers_);
    if (after.stored_ && !before.stored_) return "store";
    if (after.get_ended_ && !before.get_ended_) return "get";
    return {};
}

template class PairSearch<AmEnd>;

}  // namespace wireproof::lab
