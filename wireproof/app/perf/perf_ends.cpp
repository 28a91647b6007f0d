#include "wireproof/app/perf/perf_ends.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/no_answer.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/perf/perf_server.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/spin_budget.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::app {
namespace {

// Options that must be the same at both ends of a measurement.
constexpr std::string_view alike = "--mtu, --trust-payload, stream --in-flight or version";

FaultyWire<ShmWire>::Config faults_of(const PerfPlan& plan, std::uint64_t seed) {
    FaultyWire<ShmWire>::Config config;
    config.rates.loss = plan.loss;
    config.seed = seed;
    return config;
}

am::UdpNode open_udp_node(const PerfPlan& plan, std::uint16_t node, const std::string& local) {
    am::UdpNode::Options udp;
    udp.local = opened(Address::parse(local));
    udp.frame_max = perf_config(plan, node).packet_max;
    udp.only_peer = PeerId(1 - node);
    if (plan.controls_congestion()) udp.ecn = Ecn::on;
    udp.faults.loss = plan.loss;
    udp.seed = plan.seed + node;
    return opened(am::UdpNode::open(udp));
}

void set_peer(am::UdpNode& node, PeerId peer, const Address& address) {
    if (const auto set = node.socket().set_peer(peer, address); !set) {
        throw Failure(set.error().message);
    }
}

std::unique_ptr<PerfEnd> end_on(am::UdpNode node, const am::Config& config) {
    auto kept = std::make_shared<am::UdpNode>(std::move(node));
    return std::make_unique<PerfEnd>(kept, kept->wire(), config);
}

std::unique_ptr<PerfEnd> end_on(ShmWire wire, const PerfPlan& plan, std::uint16_t node) {
    const am::Config config = perf_config(plan, node);
    host::AnyWire any =
        plan.loss > 0
            ? host::AnyWire(FaultyWire<ShmWire>(std::move(wire), faults_of(plan, config.seed)))
            : host::AnyWire(std::move(wire));
    return std::make_unique<PerfEnd>(nullptr, std::move(any), config);
}

ShmWire::Config shm_config(const PerfPlan& plan, std::size_t node) {
    ShmWire::Config config;
    config.node = node;
    config.frame_max = perf_config(plan, 0).packet_max;
    return config;
}

}  // namespace

SharedArena::SharedArena(std::size_t size) : size_(size) {
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        throw Failure("cannot map " + std::to_string(size) + " bytes: " + std::strerror(errno));
    }
    data_ = static_cast<std::byte*>(at);
}

SharedArena::~SharedArena() {
    ::munmap(data_, size_);
}

PerfEnds::PerfEnds(const PerfPlan& plan) : to_(plan.to) {
    const std::size_t largest = *std::max_element(plan.sizes.begin(), plan.sizes.end());
    if (plan.to.empty()) {
        constexpr std::size_t ring = std::size_t{4} << 20;
        arena_ = std::make_unique<SharedArena>(4 * std::max(largest + 8192, ring));
    }
    switch (plan.wire) {
        case PerfWire::memory: open_memory(plan); break;
        case PerfWire::shm: open_shm(plan); break;
        case PerfWire::udp: open_udp(plan); break;
    }
    alone_ = !pin_to_processor(0);
    end_->node().on_peer_lost([this](const am::PeerLost& lost) {
        const am::Node& node = end_->node();
        const am::Config& config = node.connection(end_->peer()).config();
        if (to_.empty() || node.counters(end_->peer()).sessions > 0) {
            lost_ = describe_loss(lost, config, to_.empty() ? ipv4_framing : ipv6_framing);
            return;
        }
        lost_ = fmt::format("no perf answered at {} for {:g} s, or it has another {}{}", to_,
                            config.peer_timeout.seconds(), alike,
                            lost.cause.empty() ? "" : ": " + lost.cause);
    });
}

PerfEnds::~PerfEnds() = default;

void PerfEnds::open_memory(const PerfPlan& plan) {
    MemoryLink link({.frame_max = perf_config(plan, 0).packet_max,
                     .carries_intact = plan.loss == 0,
                     .carries_all = plan.loss == 0,
                     .numbered = true});
    const auto end_of = [&](std::uint16_t node) {
        const am::Config config = perf_config(plan, node);
        MemoryWire wire = std::move(link.end(node));
        if (plan.loss == 0)
            return std::make_unique<PerfEnd>(nullptr, host::AnyWire(std::move(wire)), config);
        FaultyWire<MemoryWire>::Config faults;
        faults.rates.loss = plan.loss;
        faults.seed = config.seed;
        return std::make_unique<PerfEnd>(
            nullptr, host::AnyWire(FaultyWire<MemoryWire>(std::move(wire), faults)), config);
    };
    end_ = end_of(0);
    local_end_ = end_of(1);
    server_ = std::make_unique<PerfServer>(*local_end_, arena_.get());
}

void PerfEnds::open_shm(const PerfPlan& plan) {
    auto sockets = opened(ControlSocket::pair());
    process_.start([&] {
        sockets.first.close();
        auto wire = opened(ShmWire::adopt(shm_config(plan, 1), std::move(sockets.second)));
        const auto end = end_on(std::move(wire), plan, 1);
        PerfServer(*end, arena_.get()).serve();
    });
    sockets.second.close();
    end_ = end_on(opened(ShmWire::adopt(shm_config(plan, 0), std::move(sockets.first))), plan, 0);
}

void PerfEnds::open_udp(const PerfPlan& plan) {
    if (!plan.to.empty()) {
        const Address there = opened(Address::parse(plan.to));
        const char* const any = there.family == Address::Family::ipv6 ? "[::]:0" : "0.0.0.0:0";
        am::UdpNode asking = open_udp_node(plan, 0, any);
        set_peer(asking, PeerId{1}, there);
        end_ = end_on(std::move(asking), perf_config(plan, 0));
        return;
    }
    am::UdpNode asking = open_udp_node(plan, 0, "127.0.0.1:0");
    am::UdpNode answering = open_udp_node(plan, 1, "127.0.0.1:0");
    set_peer(asking, PeerId{1}, answering.socket().local_address());
    set_peer(answering, PeerId{0}, asking.socket().local_address());
    process_.start([&] {
        { const am::UdpNode closed = std::move(asking); }
        const auto end = end_on(std::move(answering), perf_config(plan, 1));
        PerfServer(*end, nullptr).serve();
    });
    { const am::UdpNode closed = std::move(answering); }
    end_ = end_on(std::move(asking), perf_config(plan, 0));
}

void PerfEnds::turn_server() {
    server_->turn(local_end_->clock().now());
}

void PerfEnds::look() {
    check_interrupt();
    process_.look(parting_);
    if (lost_ && !parting_) {
        process_.look_at_end(parting_);
        throw Failure(*lost_);
    }
    // If both processes share one processor, the other must get its turn.
    if (alone_) ::sched_yield();
}

void PerfEnds::part() {
    parting_ = true;
    const bool forked = child() > 0;
    for (int turns = 0; turns < 1000 && (child() > 0 || !forked); ++turns) {
        turn();
        look();
    }
}

void perf_listen(const PerfPlan& plan) {
    am::UdpNode answering = open_udp_node(plan, 1, plan.listen);
    set_peer(answering, PeerId{0}, Address());  // accepts any peer
    const auto end = end_on(std::move(answering), perf_config(plan, 1));
    PerfServer server(*end, nullptr);
    host::SpinBudget spin;
    std::uint64_t mismatched = 0;
    bool warned = false;
    tell("answering at " + plan.listen + "; Ctrl-C ends it");
    while (true) {
        check_interrupt();
        const Instant now = end->clock().now();
        const std::size_t handled = server.turn(now);
        if (handled > 0) spin.heard(now);
        if (!warned && end->node().counters(0).mismatched > mismatched) {
            tell(fmt::format("a perf with another {} asked for a measurement", alike));
            warned = true;
        }
        if (server.asked_to_quit()) {
            mismatched = end->node().counters(0).mismatched;
            warned = false;
            end->node().wire().unsettle(PeerId{0});
            server.begin_anew();
        }
        if (server.expects_limit()) continue;  // the limit uses another socket
        if (handled > 0 || spin.look_again(now)) continue;
        host::wait_until(end->node().wire(), end->clock().steady(),
                         std::min(end->node().next_deadline(), now + Duration::milliseconds(100)));
    }
}

}  // namespace wireproof::app
