#include "tests/exhaustive/tiny_world.hpp"

#include <algorithm>

namespace wireproof::tiny {
namespace {

constexpr std::uint64_t inbox_address = 0x1000;
constexpr std::uint64_t source_address = 0x2000;
constexpr am::HandlerId request_handler{7};
constexpr am::HandlerId reply_handler{8};
constexpr am::HandlerId store_handler{9};

using What = Operation::What;

am::Connection engine(am::Config config, std::uint16_t node, const am::MemoryTable& memory) {
    config.node = node;
    config.peer = static_cast<std::uint16_t>(1 - node);
    return am::Connection(config, memory);
}

std::array<std::byte, 4> word(std::size_t value) {
    std::array<std::byte, 4> bytes{};
    store_le<std::uint32_t>(bytes, static_cast<std::uint32_t>(value));
    return bytes;
}

std::size_t count(const std::vector<Operation>& program, What what, bool answered_only) {
    return static_cast<std::size_t>(
        std::count_if(program.begin(), program.end(), [=](const Operation& operation) {
            return operation.what == what && (operation.answered || !answered_only);
        }));
}

std::size_t bytes_of(const std::vector<Operation>& program, What what) {
    for (const Operation& operation : program) {
        if (operation.what == what) return operation.bytes;
    }
    return 0;
}

const Operation& request_of(const std::vector<Operation>& program, std::size_t nth) {
    for (const Operation& operation : program) {
        if (operation.what == What::request && nth-- == 0) return operation;
    }
    return program.front();
}

bool same(const Arena::Image& arrived, const Arena::Image& sent, std::size_t bytes) {
    const auto end = static_cast<std::ptrdiff_t>(bytes);
    return std::equal(arrived.begin(), arrived.begin() + end, sent.begin());
}

}  // namespace

am::Config config(am::Recovery recovery, std::uint32_t window) {
    am::Config config = am::Config::sp2();
    config.recovery = recovery;
    config.packet_max = frame_max;
    config.words_max = 2;
    config.chunk_packets = 2;
    config.chunks_in_flight = 2;
    config.window = {window, window};
    config.modulus = 4 * window + 1;
    const auto last = static_cast<std::uint32_t>(config.modulus - 1);
    config.first_number = {last, last - 1};
    config.reply_places = 2;
    config.stores_max = config.gets_max = config.get_slots = 1;
    config.save_bytes = 256;
    config.held_packets = 2;
    config.keepalive_after = Duration::nanoseconds(30);
    config.keepalive_max = Duration::nanoseconds(30);
    config.keepalive_limit = 16;
    config.cookie = 42;
    return config;
}

void Frame::fingerprint(Fingerprint& sink) const {
    sink.add(damaged);
    sink.add_bytes(ConstBytes(bytes).first(size));
}

Arena::Arena() {
    for (std::size_t node = 0; node < 2; ++node) {
        for (std::size_t i = 0; i < size; ++i) {
            source[node][i] = static_cast<std::byte>(i * 7 + node * 100 + 1);
        }
        const bool fits = tables[node].add(inbox_address, inbox[node], {.write = true}) &&
                          tables[node].add(source_address, source[node], {.read = true});
        WIREPROOF_CHECK(fits);
    }
}

World::World(const am::Config& config, const Programs& programs, Arena& arena)
    : programs_(std::make_shared<const Programs>(programs)),
      arena_(&arena),
      ends_{engine(config, 0, arena.tables[0]), engine(config, 1, arena.tables[1])} {}

void World::enter() const {
    arena_->inbox = inbox_;
    arena_->landing = landing_;
}

void World::leave() {
    inbox_ = arena_->inbox;
    landing_ = arena_->landing;
}

void World::post(std::size_t node) {
    const auto& program = (*programs_)[node];
    Progress& progress = progress_[node];
    for (; progress.posted < program.size(); ++progress.posted) {
        const Operation& operation = program[progress.posted];
        am::PostStatus status{};
        if (operation.what == What::request) {
            status = ends_[node].request(request_handler, word(progress.posted));
        } else if (operation.what == What::store) {
            status = ends_[node].store(
                {.address = inbox_address,
                 .source = ConstBytes(arena_->source[node]).first(operation.bytes),
                 .handler = store_handler,
                 .argument = 5,
                 .tag = 6});
        } else {
            status =
                ends_[node].get({.address = source_address,
                                 .destination = Bytes(arena_->landing[node]).first(operation.bytes),
                                 .tag = 7});
        }
        if (status == am::PostStatus::window_full) return;
        if (status != am::PostStatus::accepted) return fail("a call was not accepted");
    }
}

bool World::transmit(std::size_t node, Frame& frame) {
    post(node);
    std::array<std::byte, frame_max> room{};
    TxFrame out;
    out.open(room, {.frame_max = frame_max, .carries_intact = true});
    if (!ends_[node].poll_transmit(now_, out)) return false;
    frame.size = out.gather(frame.bytes).size();
    frame.damaged = false;
    return true;
}

void World::receive(std::size_t node, const Frame& frame) {
    const auto integrity = frame.damaged ? Integrity::damaged : Integrity::intact;
    ends_[node].on_frame(now_, {ConstBytes(frame.bytes).first(frame.size), PeerId{0}, integrity});
    draw(node);
}

bool World::on_deadline(std::size_t node) {
    if (ends_[node].next_deadline() > now_) return false;
    ends_[node].on_deadline(now_);
    draw(node);
    return true;
}

void World::draw(std::size_t node) {
    while (const auto delivery = ends_[node].next_delivery()) deliver(node, *delivery);
}

void World::on_request(std::size_t node, const am::Request& request) {
    const auto& program = (*programs_)[1 - node];
    Progress& asked = progress_[1 - node];
    if (asked.requests == count(program, What::request, false)) return fail("one request too many");
    const Operation& operation = request_of(program, asked.requests);
    const auto position = static_cast<std::size_t>(&operation - program.data());
    if (!std::ranges::equal(request.arguments, word(position))) return fail("another request");
    ++asked.requests;
    if (!operation.answered) return;
    if (ends_[node].reply(reply_handler, word(position)) != am::PostStatus::accepted) {
        fail("a reply was not accepted");
    }
}

void World::deliver(std::size_t node, const am::Delivery& delivery) {
    Progress& own = progress_[node];
    Progress& asked = progress_[1 - node];
    const auto& program = (*programs_)[node];
    if (const auto* request = std::get_if<am::Request>(&delivery))
        return on_request(node, *request);
    if (const auto* reply = std::get_if<am::Reply>(&delivery)) {
        if (own.answers == count(program, What::request, true)) return fail("one reply too many");
        std::size_t position = 0;  // of the request that this answers
        for (std::size_t seen = 0;; ++position) {
            if (program[position].answered && seen++ == own.answers) break;
        }
        if (!std::ranges::equal(reply->arguments, word(position))) return fail("another reply");
        ++own.answers;
    } else if (std::holds_alternative<am::Stored>(delivery)) {
        const std::size_t bytes = bytes_of((*programs_)[1 - node], What::store);
        if (asked.stored || !same(arena_->inbox[node], arena_->source[1 - node], bytes)) {
            fail("a store's handler ran twice, or before its bytes were there");
        }
        asked.stored = true;
    } else if (std::holds_alternative<am::StoreEnded>(delivery)) {
        if (own.store_ended || !own.stored) fail("a store ended twice or too early");
        own.store_ended = true;
    } else if (std::holds_alternative<am::GetEnded>(delivery)) {
        const std::size_t bytes = bytes_of(program, What::get);
        if (own.get_ended || !same(arena_->landing[node], arena_->source[1 - node], bytes)) {
            fail("a get ended twice, or before its bytes were there");
        }
        own.get_ended = true;
    } else {
        fail("a session ended, or a message was refused");
    }
}

bool World::complete(std::size_t node) const {
    const auto& program = (*programs_)[node];
    const Progress& progress = progress_[node];
    const bool stores = count(program, What::store, false) > 0;
    const bool gets = count(program, What::get, false) > 0;
    return progress.posted == program.size() &&
           progress.requests == count(program, What::request, false) &&
           progress.answers == count(program, What::request, true) && progress.stored == stores &&
           progress.store_ended == stores && progress.get_ended == gets && ends_[node].idle();
}

bool World::finished() const {
    return complete(0) && complete(1);
}

void World::fingerprint(Fingerprint& sink) const {
    for (std::size_t node = 0; node < 2; ++node) {
        ends_[node].fingerprint(now_, sink);
        const Progress& progress = progress_[node];
        sink.add(progress.posted);
        sink.add(progress.requests);
        sink.add(progress.answers);
        sink.add(progress.stored);
        sink.add(progress.store_ended);
        sink.add(progress.get_ended);
        sink.add_bytes(inbox_[node]);
        sink.add_bytes(landing_[node]);
    }
}

}  // namespace wireproof::tiny
