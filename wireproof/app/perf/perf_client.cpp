#include "wireproof/app/perf/perf_client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/perf/perf_figures.hpp"
#include "wireproof/app/perf/perf_server.hpp"
#include "wireproof/base/crc.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/host/ticks.hpp"

namespace wireproof::app {
namespace {

[[noreturn]] void fail(const char* what, am::Status status) {
    throw Failure(fmt::format("{}: {}", what, am::name_of(status)));
}

}  // namespace

PerfClient::PerfClient(const PerfPlan& plan, PerfEnds& ends)
    : plan_(plan),
      ends_(ends),
      node_(ends.end().node()),
      ticks_per_second_(measure_ticks_per_second()),
      slice_ticks_(static_cast<std::uint64_t>(plan.slice_seconds * ticks_per_second_)) {
    node_.handle(perf_answer, [this](const am::Message& message) {
        ++answers_;
        if (half_rtt_ != nullptr) {
            const std::uint64_t now = host::ticks();
            std::uint64_t& asked = asked_at_[message.words()[0]];
            half_rtt_->add((now - asked) / 2);
            asked = 0;
        }
        if (!keep_answer_) return;
        last_answer_.clear();
        for (std::size_t i = 0; i < message.words().size(); ++i) {
            last_answer_.push_back(message.words()[i]);
        }
    });
    node_.handle(perf_told, [this](const am::Message& message) {
        told_.clear();
        for (std::size_t i = 0; i < message.words().size(); ++i) {
            told_.push_back(message.words()[i]);
        }
        was_told_ = true;
    });
    const std::size_t largest = *std::max_element(plan.sizes.begin(), plan.sizes.end());
    if (!plan.sends_messages()) prepare(largest);
}

std::vector<std::uint32_t> PerfClient::ask(std::uint16_t handler,
                                           const std::vector<std::uint32_t>& words) {
    was_told_ = false;
    am::Status status = am::Status::would_block;
    ends_.turn_until([&] {
        status = node_.post(ends_.end().peer(), handler, std::as_bytes(std::span(words)));
        return status != am::Status::would_block;
    });
    if (status != am::Status::ok) fail("asking the other end", status);
    ends_.turn_until([&] { return was_told_; });
    return told_;
}

namespace {

std::uint64_t number(const std::vector<std::uint32_t>& words, std::size_t at) {
    if (at + 1 >= words.size()) return 0;
    return words[at] | std::uint64_t{words[at + 1]} << 32;
}

}  // namespace

PerfClient::Told PerfClient::told() {
    const auto words = ask(perf_ask, {});
    return {number(words, 0), number(words, 2), number(words, 4), number(words, 6)};
}

void PerfClient::prepare(std::size_t size) {
    std::vector<std::uint32_t> words;
    put_number(words, size);
    words.push_back(plan_.private_memory ? 1 : 0);
    address_ = number(ask(perf_prepare, words), 0);
    if (address_ == 0) throw Failure("the other end could not lend its memory");
    source_ = PageBytes(size);
    destination_ = PageBytes(size);
    fill_source(size, 1);
}

void PerfClient::fill_source(std::size_t size, std::uint64_t seed) {
    fill_random(source_.bytes().first(size), seed);
}

void PerfClient::quit() {
    const am::Status status = node_.post(ends_.end().peer(), perf_quit, {});
    if (status != am::Status::ok) return;
    ends_.part();
}

PerfSlice PerfClient::slice(std::size_t size, std::size_t per_poll) {
    switch (plan_.op) {
        case PerfOp::request_reply: return request_reply(size);
        case PerfOp::stream: return stream(size, per_poll);
        case PerfOp::store: return store(size);
        case PerfOp::store_async: return store_async(size);
        case PerfOp::get: return get(size);
    }
    return {};
}

// Each time runs from the end of the one before, as for the bare limit. A time that starts in a
// handler could be wrong: a processor that predicts the message correctly may read its counter
// before the message is there.
PerfSlice PerfClient::take_turns(std::size_t size) {
    PerfSlice slice;
    std::vector<std::uint32_t> words(size / 4, 7);
    answers_ = 0;
    const std::uint64_t begin = host::ticks();
    std::uint64_t before = begin;
    while (!slice_over(begin, before)) {
        const am::Status status = ends_.ask(perf_echo, std::as_bytes(std::span(words)));
        if (status == am::Status::would_block) {
            ends_.turn();
            continue;
        }
        if (status != am::Status::ok) fail("a request", status);
        ++slice.messages;
        ends_.turn_until([&] { return answers_ == slice.messages; });
        const std::uint64_t now = host::ticks();
        slice.half_rtt.add((now - before) / 2);
        before = now;
    }
    slice.seconds = seconds(before - begin);
    return slice;
}

PerfSlice PerfClient::request_reply(std::size_t size) {
    const std::size_t in_flight = std::max<std::size_t>(plan_.in_flight, 1);
    if (in_flight == 1) return take_turns(size);
    PerfSlice slice;
    asked_at_.assign(in_flight, 0);
    half_rtt_ = &slice.half_rtt;
    std::vector<std::uint32_t> words(size / 4, 7);
    answers_ = 0;
    std::uint64_t posted = 0;
    std::size_t slot = 0;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    for (std::uint32_t i = 1; !slice_over(begin, now); ++i) {
        while (posted - answers_ < in_flight) {
            while (asked_at_[slot] != 0) slot = (slot + 1) % in_flight;
            words[0] = static_cast<std::uint32_t>(slot);
            now = host::ticks();
            const am::Status status = ends_.ask(perf_echo, std::as_bytes(std::span(words)));
            if (status == am::Status::would_block) break;
            if (status != am::Status::ok) fail("a request", status);
            asked_at_[slot] = now;
            ++posted;
        }
        const std::uint64_t wanted = answers_ + 1;
        ends_.turn_until([&] { return answers_ >= wanted || posted == answers_; });
    }
    ends_.turn_until([&] { return answers_ == posted; });
    slice.seconds = seconds(host::ticks() - begin);
    slice.messages = answers_;
    half_rtt_ = nullptr;
    return slice;
}

PerfSlice PerfClient::stream(std::size_t size, std::size_t per_poll) {
    PerfSlice slice;
    std::vector<std::uint32_t> words(size / 4, 7);
    const ConstBytes bytes = std::as_bytes(std::span(words));
    const std::size_t peer = ends_.end().peer();
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    for (std::uint32_t turns = 1; !slice_over(begin, now); ++turns) {
        for (std::size_t i = 0; i < per_poll; ++i) {
            const am::Status status = node_.post(peer, perf_count, bytes);
            if (status == am::Status::would_block) break;
            if (status != am::Status::ok) fail("a request", status);
            ++slice.messages;
        }
        ends_.turn();
        if (turns % 16 == 0) now = host::ticks();
    }
    counted_ += slice.messages;
    while (told().counted != counted_) {
    }
    slice.seconds = seconds(host::ticks() - begin);
    return slice;
}

// Does the same as Endpoint::store: returns when the bytes are in the memory of the peer, where a
// handler then runs.
PerfSlice PerfClient::store(std::size_t size) {
    PerfSlice slice;
    const std::size_t peer = ends_.end().peer();
    const ConstBytes source = source_.bytes().first(size);
    const std::size_t in_flight = std::max<std::size_t>(plan_.in_flight, 1);
    std::size_t under_way = 0;
    am::Status ended = am::Status::ok;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    while (!slice_over(begin, now)) {
        auto status = node_.store_at_once(peer, address_, source, perf_stored, 0);
        if (!status) {
            status = node_.store_async(peer, address_, source, perf_stored, 0, [&](am::Status how) {
                --under_way;
                if (how != am::Status::ok) ended = how;
            });
            if (status == am::Status::ok) {
                ++under_way;
                ends_.turn_until([&] { return under_way < in_flight; });
            }
            if (ended != am::Status::ok) fail("a store", ended);
        }
        if (*status == am::Status::ok) ++slice.messages;
        if (*status != am::Status::ok && *status != am::Status::would_block) {
            fail("a store", *status);
        }
        if (*status == am::Status::ok) {
            ends_.push();
        } else {
            ends_.turn();
        }
        now = host::ticks();
    }
    ends_.turn_until([&] { return under_way == 0; });
    if (ended != am::Status::ok) fail("a store", ended);
    stored_ += slice.messages;
    while (told().stored != stored_) {
    }
    slice.seconds = seconds(host::ticks() - begin);
    return slice;
}

PerfSlice PerfClient::store_async(std::size_t size) {
    PerfSlice slice;
    const std::size_t peer = ends_.end().peer();
    const ConstBytes source = source_.bytes().first(size);
    // A longer queue would take more time than the round has.
    constexpr std::size_t bytes_most = std::size_t{64} << 20;
    const std::size_t most =
        plan_.in_flight > 0 ? plan_.in_flight : std::max<std::size_t>(2, bytes_most / size);
    std::size_t under_way = 0;
    am::Status ended = am::Status::ok;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    while (!slice_over(begin, now)) {
        while (under_way < most && !slice_over(begin, host::ticks())) {
            const am::Status status =
                node_.store_async(peer, address_, source, perf_stored, 0, [&](am::Status how) {
                    --under_way;
                    if (how != am::Status::ok) ended = how;
                });
            if (status == am::Status::would_block) break;
            if (status != am::Status::ok) fail("a store", status);
            ++under_way;
            ++slice.messages;
            if (node_.wants_turn()) ends_.turn();  // as Endpoint does
        }
        ends_.turn();
        now = host::ticks();
    }
    ends_.turn_until([&] { return under_way == 0; });
    if (ended != am::Status::ok) fail("a store", ended);
    stored_ += slice.messages;
    while (told().stored != stored_) {
    }
    slice.seconds = seconds(host::ticks() - begin);
    return slice;
}

PerfSlice PerfClient::get(std::size_t size) {
    PerfSlice slice;
    const std::size_t in_flight = std::max<std::size_t>(plan_.in_flight, 1);
    std::size_t under_way = 0;
    am::Status ended = am::Status::ok;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    while (!slice_over(begin, now)) {
        while (under_way < in_flight) {
            const am::Status status =
                node_.get(ends_.end().peer(), address_, destination_.bytes().first(size),
                          [&](am::Status how) {
                              --under_way;
                              ++slice.messages;
                              if (how != am::Status::ok) ended = how;
                          });
            if (status == am::Status::would_block) break;
            if (status != am::Status::ok) fail("a get", status);
            ++under_way;
        }
        const std::uint64_t before = slice.messages;
        ends_.turn_until([&] { return slice.messages > before || under_way == 0; });
        now = host::ticks();
    }
    ends_.turn_until([&] { return under_way == 0; });
    if (ended != am::Status::ok) fail("a get", ended);
    slice.seconds = seconds(host::ticks() - begin);
    return slice;
}

PerfSlice PerfClient::limit(std::size_t size) {
    LimitClient bare;
    bare.kind = limit_of(plan_);
    const bool needs_both = bare.kind != LimitKind::copy && bare.kind != LimitKind::one_thread;
    bare.size = bare.kind == LimitKind::segments && !plan_.sends_messages()
                    ? std::min(size, plan_.mtu - am::ip_and_udp_size(plan_.ip()))
                    : size;
    bare.arena = plan_.wire == PerfWire::udp ? nullptr : ends_.arena();
    bare.seconds = plan_.slice_seconds;
    bare.ticks_per_second = ticks_per_second_;
    bare.remote_address = address_;
    bare.remote_process = ends_.child();
    if (needs_both && bare.kind != LimitKind::copy_by_kernel) {
        std::vector<std::uint32_t> words{static_cast<std::uint32_t>(bare.kind)};
        put_number(words, bare.size);
        bare.address = *Address::parse(plan_.to.empty() ? "127.0.0.1:0" : plan_.to);
        bare.address.port = static_cast<std::uint16_t>(number(ask(perf_limit, words), 0));
    }
    PerfSlice slice = bare.measure();
    // Counts operations, even if the limit moved the bytes in pieces of another size.
    if (!plan_.sends_messages()) slice.messages = slice.messages * bare.size / size;
    return slice;
}

// Runs once, after the timed part: the received bytes must be the sent ones.
void PerfClient::verify(std::size_t size) {
    if (plan_.sends_messages()) return verify_messages(size);
    const auto crc_of = [](ConstBytes bytes) {
        Crc32c crc;
        crc.add(bytes);
        return crc.value();
    };
    std::vector<std::uint32_t> words;
    put_number(words, size);
    if (plan_.op == PerfOp::get) {
        const auto there = static_cast<std::uint32_t>(number(ask(perf_check, words), 0));
        if (there != crc_of(destination_.bytes().first(size))) {
            throw Failure(fmt::format("a get of {} bytes returned wrong bytes", size));
        }
        return;
    }
    fill_source(size, size + plan_.seed + 2);
    bool done = false;
    ends_.turn_until([&] {
        const am::Status status =
            node_.store_async(ends_.end().peer(), address_, source_.bytes().first(size),
                              perf_stored, 0, [&](am::Status) { done = true; });
        if (status != am::Status::ok && status != am::Status::would_block) fail("a store", status);
        return status == am::Status::ok;
    });
    ends_.turn_until([&] { return done; });
    ++stored_;
    const auto there = static_cast<std::uint32_t>(number(ask(perf_check, words), 0));
    if (there != crc_of(source_.bytes().first(size))) {
        throw Failure(fmt::format("a store of {} bytes wrote wrong bytes", size));
    }
}

void PerfClient::verify_messages(std::size_t size) {
    Random random(plan_.seed + size);
    keep_answer_ = true;
    for (int i = 0; i < 100; ++i) {
        std::vector<std::uint32_t> words(size / 4);
        for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random.next());
        const std::uint64_t before = answers_;
        am::Status status = am::Status::would_block;
        ends_.turn_until([&] {
            status = node_.post(ends_.end().peer(), perf_echo, std::as_bytes(std::span(words)));
            return status != am::Status::would_block;
        });
        if (status != am::Status::ok) fail("a request", status);
        ends_.turn_until([&] { return answers_ > before; });
        if (last_answer_ != words) {
            throw Failure(fmt::format("a message of {} bytes came back changed", size));
        }
    }
    keep_answer_ = false;
}

PerfRun PerfClient::run(std::size_t size, const std::function<void()>& progress) {
    PerfRun run;
    run.size = size;
    run.rounds = plan_.rounds;
    std::vector<Histogram> half_rtts;
    std::vector<Histogram> half_rtt_limits;
    std::vector<double> rates;
    std::vector<double> limits;
    std::vector<double> single;
    (void)slice(size, plan_.per_poll);  // warms up
    const std::uint64_t at_once = node_.stores_at_once() + node_.gets_at_once();
    const std::uint64_t resent = node_.counters(ends_.end().peer()).resent;
    std::uint64_t resent_there = told().resent;
    std::uint64_t measured = 0;
    const double tick = 1e9 / ticks_per_second_;
    for (int round = 0; round < plan_.rounds; ++round) {
        const Told before = told();
        const std::uint64_t cpu = cpu_nanoseconds();
        const PerfSlice ours = slice(size, plan_.per_poll);
        run.cpu_seconds += static_cast<double>(cpu_nanoseconds() - cpu) * 1e-9;
        if (ends_.local_server() == nullptr) {
            run.cpu_seconds +=
                static_cast<double>(told().cpu_nanoseconds - before.cpu_nanoseconds) * 1e-9;
        }
        measured += ours.messages;
        rates.push_back(ours.rate());
        half_rtts.push_back(ours.half_rtt);
        if (plan_.op == PerfOp::stream && plan_.per_poll > 1) {
            single.push_back(slice(size, 1).rate());
        }
        const PerfSlice bare = limit(size);
        if (bare.messages > 0) {
            limits.push_back(bare.rate());
            half_rtt_limits.push_back(bare.half_rtt);
        }
        progress();
    }
    const Told after = told();
    run.resent = node_.counters(ends_.end().peer()).resent - resent + after.resent - resent_there;
    verify(size);

    const double rate = median(rates);
    const auto bytes = static_cast<double>(size);
    run.messages_per_s = rate;
    run.bytes_per_s = rate * bytes;
    const double unit = plan_.sends_messages() ? 1 : bytes;
    double main = rate * unit;
    if (!limits.empty()) run.limit = median(limits) * unit;
    if (plan_.op == PerfOp::request_reply) {
        run.half_rtt_ns = perf_latency(half_rtts, tick);
        main = run.half_rtt_ns->p50;
        if (run.limit) run.limit = perf_latency(half_rtt_limits, tick).p50;
    }
    if (run.limit) run.ratio = main / *run.limit;
    if (!single.empty()) run.one_per_poll = median(single);
    if (!plan_.sends_messages()) {
        const std::uint64_t done = node_.stores_at_once() + node_.gets_at_once() - at_once;
        run.how = done >= measured ? "one copy" : done == 0 ? "in packets" : "mixed";
    }
    return run;
}

}  // namespace wireproof::app
