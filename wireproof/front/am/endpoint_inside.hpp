// The implementation behind an Endpoint: a Node on a UDP socket or on shared memory, and the steady
// clock.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/shown_endpoint.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/loop_handle.hpp"
#include "wireproof/host/one_user.hpp"
#include "wireproof/host/spin_clock.hpp"
#include "wireproof/host/split_wire.hpp"
#include "wireproof/host/wait_steps.hpp"

namespace wireproof::am {

struct Endpoint::Inside {
    Inside(host::AnyWire wire, const Config& config, const std::vector<Congestion>& congestion,
           std::size_t active_peers)
        : node(std::move(wire), config, congestion, active_peers) {}
    Inside(UdpNode wire, const Config& config, const std::vector<Congestion>& congestion,
           std::size_t active_peers)
        : udp(std::move(wire)), node(udp->wire(), config, congestion, active_peers) {}
    /// `wire` has that of `of_far_peers` as its far one.
    Inside(UdpNode of_far_peers, host::SplitWire wire, const Config& config,
           const std::vector<Congestion>& congestion, std::size_t active_peers,
           const NearPeers& near)
        : udp(std::move(of_far_peers)),
          node(host::AnyWire(std::move(wire)), config, congestion, active_peers, near) {}

    struct Free {
        void operator()(std::byte* lent) const { std::free(lent); }
    };
    struct Allocation {
        std::unique_ptr<std::byte, Free> bytes;
        std::size_t size = 0;
    };
    /// The status of a transfer, set when the transfer ends. The callback and the caller both own
    /// it, because the transfer continues if an exception ends the call.
    using Outcome = std::shared_ptr<std::optional<Status>>;

    std::size_t poll() { return poll(clock.now()); }
    std::size_t poll(Instant now) {
        (void)loop.take_wakes();
        const std::size_t handled = node.poll(now);
        if (shown && shown->polled(now)) copy_counters();
        return handled;
    }
    /// From now on other processes can read the counters, if this process can publish them.
    void publish_counters();
    void copy_counters();
    /// The caller is about to sleep. Returns when it has to poll again for its counters.
    Instant before_sleep() {
        if (!shown) return never;
        if (shown->copies_before_sleep()) copy_counters();
        return shown->next_copy();
    }
    class Rounds;
    bool looks_again(Instant& now);
    bool wait(const std::function<bool()>& until, std::chrono::milliseconds limit);
    /// AM-55. True: no peer waits for this node.
    bool leave() {
        if (!node.idle()) return false;
        if (!std::exchange(leaving, true)) node.acknowledge_all();
        return node.leave();
    }
    /// A transfer that the program waits for was posted, or could not be.
    struct Posted {
        Status status = Status::would_block;
        Outcome outcome = nullptr;  // null: it has ended with this status
    };
    /// Posts a transfer whose end the program waits for. `post` gets the callback.
    template <class Post>
    static Posted awaited(Post&& post) {
        const auto outcome = std::make_shared<std::optional<Status>>();
        const Status status = post([outcome](Status end) { *outcome = end; });
        return {status, status == Status::ok ? outcome : nullptr};
    }
    template <class Post>
    Status transfer(Post&& post);
    Posted store(std::size_t peer, std::uint64_t address, ConstBytes source, std::uint16_t handler,
                 std::uint32_t argument);

    PeerCounters::Path path_to(std::size_t peer) const {
        if (peer < paths.size()) return paths[peer];
        return udp ? PeerCounters::Path::udp : PeerCounters::Path::shared_memory;
    }

    bool leaving = false;                   // leave() has begun
    std::string shm_name;                   // "shm:NAME", if all nodes are on shared memory
    std::vector<PeerCounters::Path> paths;  // by node, if join() found them
    host::SpinClock clock;
    host::WaitSteps steps;
    std::optional<UdpNode> udp;      // the node's wire borrows it
    std::vector<Allocation> memory;  // allocations that the wire does not share with peers
    Node node;
    host::LoopHandle loop{node.wire().wait_handle()};
    host::OneUser user{"an Endpoint"};
    std::unique_ptr<ShownEndpoint> shown;  // null: its counters are not published
    host::ForkWatch fork{[this] {
        node.abandon();
        loop.abandon();
    }};
};

/// The polls of a call that blocks. Between them it sleeps if there is nothing to do. During its
/// lifetime, the node asks peers for signs of life; afterwards it does as before, even if an
/// exception ends the call.
class Endpoint::Inside::Rounds {
public:
    explicit Rounds(Inside& in, std::optional<std::chrono::milliseconds> limit = {});
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;
    ~Rounds() { in_.node.set_awaiting(awaited_before_); }

    /// False: the limit has passed. The first round comes in any case.
    bool next();

private:
    void rest();

    Inside& in_;
    bool awaited_before_;
    Instant now_;
    Instant end_;
    std::optional<std::size_t> handled_ = {};  // in the last round
    std::uint64_t wakes_ = 0;                  // as of the last round
};

}  // namespace wireproof::am
