#include "wireproof/app/perf/perf_ib_client.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/perf/page_bytes.hpp"
#include "wireproof/app/perf/perf_figures.hpp"
#include "wireproof/app/perf/perf_server.hpp"
#include "wireproof/host/ticks.hpp"

namespace wireproof::app {
namespace {

constexpr std::size_t page_of_memory = 4096;
// How long to wait for an answer that may be lost. Also: if nothing arrives for this time,
// everything that can arrive has arrived.
constexpr Duration lost_after = Duration::milliseconds(50);
constexpr int verify_tries = 20;
// A bare message with an answer over UDP. The whole message is in the receive buffer at the same
// time.
constexpr std::size_t bare_message_max = 64 * 1024;
constexpr std::size_t read_request = 16;  // bytes of the extended headers
constexpr std::size_t atomic_request = 28;

std::size_t memory_size_of(const PerfPlan& plan) {
    const std::size_t largest = *std::max_element(plan.sizes.begin(), plan.sizes.end());
    const std::size_t least = PerfIbEnd::in_flight_max * sizeof(std::uint64_t);
    return (std::max(largest, least) + page_of_memory - 1) / page_of_memory * page_of_memory;
}

std::size_t limit_memory_of(const PerfPlan& plan) {
    constexpr std::size_t ring = std::size_t{4} << 20;
    const std::size_t largest = *std::max_element(plan.sizes.begin(), plan.sizes.end());
    return 4 * std::max(largest + 8192, ring);
}

Bytes quarter(const SharedArena& memory, std::size_t which) {
    const std::size_t size = memory.size() / 4;
    return Bytes(memory.data() + which * size, size);
}

LimitKind latency_limit_of(const PerfPlan& plan) {
    return plan.wire == PerfWire::shm ? LimitKind::cache_lines : LimitKind::datagrams;
}

LimitKind rate_limit_of(const PerfPlan& plan) {
    return plan.wire == PerfWire::shm ? LimitKind::ring : LimitKind::segments;
}

PerfIbBoard::Answers answers_to(PerfIbOp op) {
    if (op == PerfIbOp::send) return PerfIbBoard::Answers::sends;
    return op == PerfIbOp::write ? PerfIbBoard::Answers::writes : PerfIbBoard::Answers::nothing;
}

}  // namespace

PerfIbClient::PerfIbClient(const PerfPlan& plan)
    : plan_(plan),
      ticks_per_second_(measure_ticks_per_second()),
      slice_ticks_(static_cast<std::uint64_t>(plan.slice_seconds * ticks_per_second_)),
      path_mtu_(perf_path_mtu(plan)),
      memory_size_(memory_size_of(plan)),
      board_memory_(page_of_memory),
      memory_(4 * memory_size_),
      limit_memory_(limit_memory_of(plan)),
      board_(new (board_memory_.data()) PerfIbBoard) {
    const PerfIbWires wires = open_perf_ib_wires(plan);
    const auto end_of = [&](std::uint16_t node) {
        const PerfIbEnd::Config config{.transport = plan.protocol == PerfProtocol::rc
                                                        ? proto::ib::Transport::rc
                                                        : proto::ib::Transport::uc,
                                       .node = node,
                                       .path_mtu = path_mtu_,
                                       .over_udp = plan.wire == PerfWire::udp,
                                       .congestion = plan.congestion_control(),
                                       .seed = plan.seed};
        return std::make_unique<PerfIbEnd>(wires.take(node), config,
                                           quarter(memory_, 2 * std::size_t{node}),
                                           quarter(memory_, 2 * std::size_t{node} + 1));
    };
    process_.start([&] {
        const auto end = end_of(1);
        PerfIbServer(*end, *board_, limit_memory_).serve();
    });
    end_ = end_of(0);
    alone_ = !pin_to_processor(0);
}

void PerfIbClient::turn() {
    end_->turn();
    if (++turns_ % 4096 != 0) return;
    process_.look(parting_);
    end_->look();
    // If both processes share one processor, the other must get its turn.
    if (alone_) ::sched_yield();
}

template <class Until>
bool PerfIbClient::turn_until(Until&& until, Duration limit) {
    if (until()) return true;
    turn();
    const Instant end = end_->now() + limit;
    while (!until()) {
        if (end_->now() >= end) return false;
        turn();
    }
    return true;
}

template <class Until>
void PerfIbClient::turn_until(Until&& until) {
    turn();
    Instant since = end_->now();
    std::uint64_t heard = end_->heard();
    while (!until()) {
        turn();
        if (end_->heard() != heard) {
            heard = end_->heard();
            since = end_->now();
        }
        if (end_->now() < since + PerfIbEnd::peer_timeout) continue;
        throw Failure(fmt::format("the answering process has been silent for {:g} s",
                                  PerfIbEnd::peer_timeout.seconds()));
    }
}

PerfIbBoard::Told PerfIbClient::ask(PerfIbBoard::Command command) {
    board_->command = command;
    const std::uint64_t asked = board_->asked.load(std::memory_order_relaxed) + 1;
    board_->asked.store(asked, std::memory_order_release);
    turn_until([&] { return board_->answered.load(std::memory_order_acquire) == asked; });
    return board_->told;
}

PerfIbBoard::Told PerfIbClient::begin(PerfIbBoard::Answers answers, std::size_t size) {
    board_->answers = answers;
    board_->size = size;
    board_->number = number_;
    end_->expect(number_, size);
    end_->destination()[size - 1] = std::byte{0};
    return ask(PerfIbBoard::Command::begin);
}

void PerfIbClient::quit() {
    parting_ = true;
    ask(PerfIbBoard::Command::quit);
    turn_until([&] {
        process_.look(true);
        return process_.id() == 0;
    });
}

/// Whether messages have numbers, so that the other end counts those that arrive. Only that end
/// sees a Write of UC.
bool PerfIbClient::numbers(PerfIbOp op) const {
    return op == PerfIbOp::send || (op == PerfIbOp::write && plan_.protocol == PerfProtocol::uc);
}

bool PerfIbClient::post(PerfIbOp op, std::size_t size) {
    bool posted = false;
    switch (op) {
        case PerfIbOp::send: posted = end_->send(number_, size); break;
        case PerfIbOp::write:
            posted = numbers(op) ? end_->write_numbered(number_, size) : end_->write(size);
            break;
        case PerfIbOp::read: posted = end_->read(size); break;
        case PerfIbOp::fetch_add: posted = end_->fetch_add(); break;
    }
    if (!posted) return false;
    ++posted_;
    if (numbers(op)) ++number_;
    return true;
}

void PerfIbClient::post_surely(PerfIbOp op, std::size_t size) {
    if (!post(op, size)) turn_until([&] { return post(op, size); });
    end_->transmit();
}

void PerfIbClient::complete_all() {
    turn_until([this] { return end_->completed() == posted_; });
}

PerfIbClient::Measured PerfIbClient::measured(PerfIbBoard::Answers answers, std::size_t size,
                                              const std::function<void(Measured&)>& slice) {
    Measured result;
    const PerfIbBoard::Told before = begin(answers, size);
    const std::uint64_t resent = end_->resent();
    const std::uint64_t cpu = cpu_nanoseconds();
    slice(result);
    const std::uint64_t cpu_after = cpu_nanoseconds();
    const PerfIbBoard::Told after = ask(PerfIbBoard::Command::tell);
    const std::uint64_t both = cpu_after - cpu + after.cpu_nanoseconds - before.cpu_nanoseconds;
    result.tally.cpu_seconds = static_cast<double>(both) * 1e-9;
    result.tally.resent = end_->resent() - resent + after.resent - before.resent;
    return result;
}

// Each time runs from the end of one operation to the end of the next, as for the bare wire.
void PerfIbClient::latency(PerfIbOp op, std::size_t size, Measured& into) {
    const bool half = is_half_round_trip(op);
    const std::uint64_t begin = host::ticks();
    std::uint64_t before = begin;
    while (before - begin < slice_ticks_) {
        const bool came = there_and_back(op, size);
        const std::uint64_t now = host::ticks();
        if (came) into.slice.half_rtt.add(half ? (now - before) / 2 : now - before);
        ++into.tally.messages;
        if (!came) ++into.tally.lost;
        before = now;
    }
    into.slice.messages = into.tally.messages - into.tally.lost;
    into.slice.seconds = static_cast<double>(before - begin) / ticks_per_second_;
    complete_all();
}

/// Returns false if the message or its answer was lost.
bool PerfIbClient::there_and_back(PerfIbOp op, std::size_t size) {
    if (!is_half_round_trip(op)) {
        post_surely(op, size);
        complete_all();
        return true;
    }
    const auto came = [this](auto&& answered) {
        if (plan_.protocol == PerfProtocol::uc) return turn_until(answered, lost_after);
        turn_until(answered);
        return true;
    };
    if (op == PerfIbOp::send) {
        const std::uint32_t number = number_;
        post_surely(op, size);
        return came([&] { return end_->last_number() == number; });
    }
    tag_ = tag_ == 255 ? 1 : static_cast<std::uint8_t>(tag_ + 1);
    const std::byte tag{tag_};
    end_->source()[size - 1] = tag;
    if (!end_->write(size)) turn_until([&] { return end_->write(size); });
    ++posted_;
    end_->transmit();
    return came([&] { return end_->destination()[size - 1] == tag; });
}

void PerfIbClient::rate(PerfIbOp op, std::size_t size, Measured& into) {
    const std::size_t in_flight = perf_ib_in_flight(plan_, op, size);
    const std::uint64_t came_before = ask(PerfIbBoard::Command::tell).received;
    const std::uint64_t posted_before = posted_;
    const std::uint64_t begin = host::ticks();
    while (host::ticks() - begin < slice_ticks_) {
        while (posted_ - end_->completed() < in_flight && post(op, size)) {
        }
        turn();
    }
    complete_all();
    const std::uint64_t posted = posted_ - posted_before;
    // The other end has counted all messages that arrived before this request.
    std::uint64_t came =
        numbers(op) ? ask(PerfIbBoard::Command::tell).received - came_before : posted;
    into.slice.seconds = static_cast<double>(host::ticks() - begin) / ticks_per_second_;
    if (numbers(op)) came = arrived(came_before, posted);
    into.slice.messages = came;
    into.tally.messages = posted;
    into.tally.lost = posted - came;
    if (into.tally.lost > 0 && plan_.protocol == PerfProtocol::rc) {
        throw Failure(fmt::format("{} of {} messages were acknowledged, but never arrived",
                                  into.tally.lost, posted));
    }
}

/// Waits until no more messages arrive. Returns how many of the posted messages have arrived.
std::uint64_t PerfIbClient::arrived(std::uint64_t before, std::uint64_t posted) {
    std::uint64_t came = ask(PerfIbBoard::Command::tell).received - before;
    while (came < posted) {
        turn_until([] { return false; }, lost_after);
        const std::uint64_t now = ask(PerfIbBoard::Command::tell).received - before;
        if (now == came) break;
        came = now;
    }
    return came;
}

PerfSlice PerfIbClient::limit(LimitKind kind, const LimitShape& shape) {
    LimitClient bare;
    bare.kind = kind;
    bare.size = shape.size;
    bare.back = shape.back;
    bare.datagram = shape.datagram;
    bare.arena = plan_.wire == PerfWire::shm ? &limit_memory_ : nullptr;
    bare.seconds = plan_.slice_seconds;
    bare.ticks_per_second = ticks_per_second_;
    board_->kind = kind;
    board_->shape = shape;
    ask(PerfIbBoard::Command::limit);
    bare.address = *Address::parse("127.0.0.1:0");
    bare.address.port = board_->limit_port;
    return bare.measure();
}

PerfSlice PerfIbClient::latency_limit(PerfIbOp op, std::size_t size) {
    if (plan_.wire == PerfWire::udp && size > bare_message_max) return {};
    LimitShape shape{.size = size, .back = size, .datagram = path_mtu_};
    if (op == PerfIbOp::read) shape.size = read_request;
    if (op == PerfIbOp::fetch_add) shape.size = atomic_request;
    return limit(latency_limit_of(plan_), shape);
}

PerfSlice PerfIbClient::rate_limit(std::size_t size) {
    const LimitKind kind = rate_limit_of(plan_);
    const std::size_t segment = kind == LimitKind::segments ? std::min(size, path_mtu_) : size;
    PerfSlice slice = limit(kind, {.size = segment});
    slice.messages = slice.messages * segment / size;
    return slice;
}

// Runs once, after the timed part: the received bytes must be the sent ones.
void PerfIbClient::verify(PerfIbOp op, std::size_t size) {
    const int tries = plan_.protocol == PerfProtocol::rc ? 1 : verify_tries;
    for (int i = 0; i < tries; ++i) {
        if (verified(op, size)) return;
    }
    throw Failure(
        fmt::format("none of {} more messages of {} bytes arrived complete: contents are not "
                    "checked",
                    tries, size));
}

/// Returns false if the message was lost.
bool PerfIbClient::verified(PerfIbOp op, std::size_t size) {
    const Bytes their_source = quarter(memory_, 2).first(size);
    const Bytes their_destination = quarter(memory_, 3).first(size);
    const Bytes source = end_->source().first(size);
    fill_random(op == PerfIbOp::read ? their_source : source, plan_.seed + size + number_ + 1);
    const std::uint64_t before = begin(PerfIbBoard::Answers::nothing, size).received;
    post_surely(op, size);
    complete_all();
    ask(PerfIbBoard::Command::tell);  // from now on this end sees what the other one did
    if (numbers(op) && arrived(before, 1) == 0) return false;
    bool same = false;
    switch (op) {
        case PerfIbOp::send:
        case PerfIbOp::write: same = std::ranges::equal(source, their_destination); break;
        case PerfIbOp::read:
            same = std::ranges::equal(end_->destination().first(size), their_source);
            break;
        case PerfIbOp::fetch_add: {
            std::uint64_t sum = 0;
            std::memcpy(&sum, their_destination.data(), sizeof sum);
            same = sum == 1 && end_->added() == 1;
            break;
        }
    }
    if (!same) {
        throw Failure(fmt::format("{} of {} bytes returned wrong bytes", name_of(op), size));
    }
    return true;
}

PerfIbRun PerfIbClient::run(PerfIbOp op, std::size_t size, const std::function<void()>& progress) {
    PerfIbRun run;
    run.op = op;
    run.size = size;
    run.rounds = plan_.rounds;
    std::vector<Histogram> latencies;
    std::vector<Histogram> latency_limits;
    std::vector<double> rates;
    std::vector<double> rate_limits;
    const auto latency_once = [&] {
        return measured(answers_to(op), size, [&](Measured& into) { latency(op, size, into); });
    };
    const auto rate_once = [&] {
        return measured(PerfIbBoard::Answers::nothing, size,
                        [&](Measured& into) { rate(op, size, into); });
    };
    const auto count = [&](const Measured& one, PerfIbRun::Tally& tally) {
        tally.messages += one.tally.messages;
        tally.lost += one.tally.lost;
        tally.resent += one.tally.resent;
        tally.cpu_seconds += one.tally.cpu_seconds;
    };
    latency_once();  // warms up
    rate_once();
    for (int round = 0; round < plan_.rounds; ++round) {
        const Measured lone = latency_once();
        count(lone, run.latency_tally);
        latencies.push_back(lone.slice.half_rtt);
        const PerfSlice bare_lone = latency_limit(op, size);
        if (bare_lone.messages > 0) latency_limits.push_back(bare_lone.half_rtt);
        const Measured many = rate_once();
        count(many, run.rate_tally);
        rates.push_back(many.slice.rate());
        const PerfSlice bare_many = rate_limit(size);
        if (bare_many.messages > 0) rate_limits.push_back(bare_many.rate());
        progress();
    }
    verify(op, size);
    const double tick = 1e9 / ticks_per_second_;
    if (run.latency_tally.messages > run.latency_tally.lost) {
        run.latency_ns = perf_latency(latencies, tick);
    }
    if (!latency_limits.empty()) {
        const double halves = is_half_round_trip(op) ? 1 : 2;
        run.latency_limit_ns = halves * perf_latency(latency_limits, tick).p50;
    }
    run.messages_per_s = median(rates);
    if (!rate_limits.empty()) run.limit_per_s = median(rate_limits);
    return run;
}

std::size_t perf_ib_in_flight(const PerfPlan& plan, PerfIbOp op, std::size_t size) {
    constexpr std::size_t bytes_at_once = std::size_t{64} << 20;
    if (plan.in_flight > 0) return plan.in_flight;
    const std::size_t most = is_half_round_trip(op) ? 64 : PerfIbEnd::rd_atomic;
    return std::clamp(bytes_at_once / size, std::size_t{1}, most);
}

PerfIbReport measure_ib(const PerfPlan& plan) {
    PerfIbReport report;
    report.path_mtu = perf_path_mtu(plan);
    report.latency_limit_name = limit_name(latency_limit_of(plan));
    report.rate_limit_name = limit_name(rate_limit_of(plan));
    std::vector<std::pair<PerfIbOp, std::size_t>> rows;
    for (const PerfIbOp op : plan.ib_ops) {
        for (const std::size_t size : plan.sizes) {
            if (op != PerfIbOp::fetch_add) rows.emplace_back(op, size);
        }
        if (op == PerfIbOp::fetch_add) rows.emplace_back(op, fetch_add_size);
    }
    PerfIbClient client(plan);
    Progress bar("measuring", rows.size() * static_cast<std::uint64_t>(plan.rounds));
    std::uint64_t done = 0;
    for (const auto& [op, size] : rows) {
        report.runs.push_back(client.run(op, size, [&] { bar.show(++done); }));
    }
    client.quit();
    return report;
}

}  // namespace wireproof::app
