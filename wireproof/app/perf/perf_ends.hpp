// The two ends of a measurement: a node on a wire each. They are in two processes that are pinned
// to two processors, or, on the memory wire, in one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "wireproof/app/perf/perf_plan.hpp"
#include "wireproof/app/perf/perf_process.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/spin_clock.hpp"

namespace wireproof::app {

/// A wire with a node on it.
class PerfEnd {
public:
    PerfEnd(std::shared_ptr<am::UdpNode> udp, host::AnyWire wire, const am::Config& config)
        : udp_(std::move(udp)), node_(std::move(wire), config, 2) {}

    am::Node& node() { return node_; }
    std::size_t peer() const { return 1 - node_.self(); }
    host::SpinClock& clock() { return clock_; }
    /// Null: it is not on UDP.
    am::UdpNode* udp() { return udp_.get(); }

private:
    std::shared_ptr<am::UdpNode> udp_;  // the node's wire borrows it
    am::Node node_;
    host::SpinClock clock_;
};

/// Memory that both processes share. The bare limits of shared memory use it.
class SharedArena {
public:
    explicit SharedArena(std::size_t size);
    ~SharedArena();
    SharedArena(const SharedArena&) = delete;
    SharedArena& operator=(const SharedArena&) = delete;
    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }

private:
    std::byte* data_ = nullptr;
    std::size_t size_;
};

class PerfServer;

/// The objects of the measuring process.
class PerfEnds {
public:
    /// Opens both ends. Forks the answering process, unless the plan names one elsewhere.
    explicit PerfEnds(const PerfPlan& plan);
    ~PerfEnds();
    PerfEnds(const PerfEnds&) = delete;
    PerfEnds& operator=(const PerfEnds&) = delete;

    PerfEnd& end() { return *end_; }
    /// The other end, if this thread runs it; otherwise nullptr.
    PerfServer* local_server() { return server_.get(); }
    SharedArena* arena() { return arena_.get(); }
    pid_t child() const { return process_.id(); }

    /// One turn of everything in this process. Throws Failure if the other end is gone or silent,
    /// and Interrupted after a signal.
    void turn() { turn_at(end_->clock().now()); }
    /// Does the same as Endpoint::request, without its turns.
    am::Status ask(std::uint16_t handler, ConstBytes words) {
        return end_->node().ask(end_->peer(), handler, words,
                                [this] { return end_->clock().now(); });
    }
    /// Does the same as the end of Endpoint::store: sends what was posted, and takes a turn now and
    /// then.
    void push() {
        if (end_->node().wants_turn()) return turn();
        end_->node().push(end_->clock().now());
    }
    /// Takes turns until `until` returns true.
    template <class Until>
    void turn_until(Until&& until) {
        bool busy = true;
        while (!until()) {
            busy = turn_at(busy ? end_->clock().now() : end_->clock().again()) > 0;
        }
    }
    /// Call it after the other end was asked to end: takes turns for a while, so that the other end
    /// receives that, or until it has gone. Throws Failure if it failed.
    void part();

private:
    std::size_t turn_at(Instant now) {
        const std::size_t handled = end_->node().poll(now);
        if (local_end_ != nullptr) turn_server();
        if (++turns_ % 16'384 == 0) look();
        return handled;
    }
    void open_memory(const PerfPlan& plan);
    void open_shm(const PerfPlan& plan);
    void open_udp(const PerfPlan& plan);
    void look();
    void turn_server();

    std::string to_;  // address of the other end; empty: our own process, or this one
    std::unique_ptr<SharedArena> arena_;
    std::unique_ptr<PerfEnd> end_;
    std::unique_ptr<PerfEnd> local_end_;
    std::unique_ptr<PerfServer> server_;
    PerfProcess process_;
    bool alone_ = false;    // both ends share one processor
    bool parting_ = false;  // the other end may end now
    std::uint32_t turns_ = 0;
    std::optional<std::string> lost_;
};

/// Runs only the answering end, until it is interrupted.
void perf_listen(const PerfPlan& plan);

}  // namespace wireproof::app
