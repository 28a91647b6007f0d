#include "wireproof/app/perf/perf_server.hpp"

#include <ctime>

#include "wireproof/base/crc.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::app {

std::uint64_t cpu_nanoseconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

PerfServer::PerfServer(PerfEnd& end, SharedArena* arena) : end_(end), arena_(arena) {
    am::Node& node = end.node();
    node.handle(perf_echo, [&node](const am::Message& message) {
        (void)node.reply(perf_answer, message.words().bytes());
    });
    node.handle(perf_count, [this](const am::Message& message) {
        last_word_ += message.words()[0];  // reads the message, as a program does
        ++counted_;
    });
    node.handle(perf_stored, [this](const am::Message&) { ++stored_; });
    node.handle(perf_prepare, [this](const am::Message& message) { prepare(message); });
    node.handle(perf_ask, [this](const am::Message& message) { tell(message); });
    node.handle(perf_check, [this](const am::Message& message) { check(message); });
    node.handle(perf_limit, [this](const am::Message& message) { begin_limit(message); });
    node.handle(perf_quit, [this](const am::Message&) { quit_ = true; });
}

std::size_t PerfServer::turn(Instant now) {
    const std::size_t handled = end_.node().poll(now);
    if (!limit_due_ || !limit_->asked()) return handled;
    limit_due_ = false;
    limit_->run();
    return handled + 1;
}

void PerfServer::serve() {
    host::SpinClock& clock = end_.clock();
    std::size_t handled = 0;
    for (Instant now = clock.now(); !quit_; now = handled > 0 ? clock.now() : clock.again()) {
        handled = turn(now);
    }
}

// A client calls this once, for its largest size. Memory for a smaller size from an earlier client
// is kept, because its peer may still refer to it.
void PerfServer::prepare(const am::Message& message) {
    am::Node& node = end_.node();
    const auto size = static_cast<std::size_t>(number_at(message.words(), 0));
    const bool of_this_process = message.words()[2] != 0;
    if (size > memory_.size()) {
        const auto shared = node.wire().allocate_shared(size);
        if (shared && !of_this_process) {
            memory_ = *shared;
        } else {
            memory_ = own_memory_.emplace_back(size).bytes();
        }
        fill_random(memory_, size);
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        const am::Rights both{.get = true, .store = true};
        address_ = node.register_memory(message.peer(), address, memory_, both) ? address : 0;
    }
    std::vector<std::uint32_t> words;
    put_number(words, address_);
    (void)message.reply(perf_told, words);
}

void PerfServer::tell(const am::Message& message) {
    std::vector<std::uint32_t> words;
    put_number(words, counted_);
    put_number(words, stored_);
    put_number(words, cpu_nanoseconds());
    put_number(words, end_.node().counters(message.peer()).resent);
    (void)message.reply(perf_told, words);
}

void PerfServer::check(const am::Message& message) {
    const std::size_t size =
        std::min(memory_.size(), static_cast<std::size_t>(number_at(message.words(), 0)));
    Crc32c crc;
    crc.add(memory_.first(size));
    std::vector<std::uint32_t> words;
    put_number(words, crc.value());
    (void)message.reply(perf_told, words);
}

/// The address of this host that the client knows. It hears no other.
Address PerfServer::asked_at(std::size_t client) {
    if (end_.udp() == nullptr) return {.family = Address::Family::ipv4};
    UdpWire& socket = end_.udp()->socket();
    const Address& asked = socket.lane(PeerId(client)).asked_at();
    return asked.is_set() ? asked.in_own_form() : socket.local_address();
}

void PerfServer::begin_limit(const am::Message& message) {
    const auto kind = static_cast<LimitKind>(message.words()[0]);
    const auto size = static_cast<std::size_t>(number_at(message.words(), 1));
    limit_ = std::make_unique<LimitServer>(kind, LimitShape{.size = size}, arena_,
                                           asked_at(message.peer()));
    limit_due_ = limit_->has_half();
    std::vector<std::uint32_t> words;
    put_number(words, limit_->port());
    (void)message.reply(perf_told, words);
}

}  // namespace wireproof::app
