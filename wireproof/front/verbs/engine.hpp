// The device of a process: one port, the wires to its peers, and one lock around them. Whoever
// calls moves packets: each poll of a completion queue, each posting, and else the keeper.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/front/verbs/counters.hpp"
#include "wireproof/front/verbs/faults.hpp"
#include "wireproof/front/verbs/keeper.hpp"
#include "wireproof/front/verbs/peers.hpp"
#include "wireproof/front/verbs/poll_habit.hpp"
#include "wireproof/front/verbs/post_gather.hpp"
#include "wireproof/front/verbs/settings.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/spin_budget.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/proto/ib/cm_transport.hpp"
#include "wireproof/proto/ib/port.hpp"

namespace wireproof::verbs {

/// Any thread may call anything. Calls that take the port or an event's hearer run under the lock,
/// and must call nothing of the engine's.
class Engine {
public:
    static Expected<std::shared_ptr<Engine>> open(const Settings& settings);

    struct Setup {
        std::size_t path_mtu;
        std::uint64_t seed;
        Link link;
        bool shared_memory;
    };
    /// Throws std::system_error where descriptors are lacking.
    Engine(Rocev2Wire wire, const Setup& setup);
    /// From now on packets pass through faults, or are logged. Throws std::system_error.
    Expected<void> tamper(const Settings& settings);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine() = default;

    /// False in a forked child, which may call nothing else of this: the lock may be held there by
    /// a thread that does not exist, and the socket is the parent's.
    bool is_ours() const { return !fork_.forked(); }
    const Address& address() const { return address_; }
    /// On an InfiniBand link our address, from which those of all LIDs follow; null on Ethernet.
    const Address* subnet() const { return link_ == Link::infiniband ? &address_ : nullptr; }
    std::size_t path_mtu() const { return path_mtu_; }
    Instant now() const { return clock_.now(); }
    /// Of what is drawn for it.
    std::uint64_t seed() const { return seed_; }

    /// What `use` makes of the port.
    template <class Use>
    auto locked(Use&& use) {
        const std::lock_guard guard(lock_);
        const auto result = std::forward<Use>(use)(port_);
        tell_events();
        return result;
    }
    /// The same, and what there is to send then leaves.
    template <class Use>
    auto posting(Use&& use) {
        const std::lock_guard guard(lock_);
        const auto result = std::forward<Use>(use)(port_);
        const Instant now = clock_.now();
        send(now);
        tell_events();
        leave_posting(now);
        return result;
    }
    /// The same of work for a queue pair, of about so many packets. If it waits (PostGather), it
    /// leaves with later work, at the next poll, when an answer comes, or within 200 us.
    template <class Use>
    auto posting_work(std::uint32_t queue_pair, std::size_t packets, Use&& use) {
        const std::lock_guard guard(lock_);
        const auto result = std::forward<Use>(use)(port_);
        const Instant now = clock_.now();
        if (!gather_.waits(packets, port_.packets_under_way(queue_pair))) send(now);
        tell_events();
        leave_posting(now);
        return result;
    }
    /// The same of connection management: `use` is given the time and the management.
    template <class Use>
    auto managing(Use&& use) {
        const std::lock_guard guard(lock_);
        const Instant now = clock_.now();
        const auto result = std::forward<Use>(use)(now, connections_.management());
        manage(now);
        send(now);
        tell_events();
        leave_posting(now);
        return result;
    }
    /// Of what connection management tells, under the lock.
    class ConnectionHearer {
    public:
        virtual ~ConnectionHearer() = default;
        virtual void on_event(Instant now, proto::ib::ConnectionManagement& management,
                              const proto::ib::CmEvent& event) = 0;
        virtual void on_deadline(Instant now, proto::ib::ConnectionManagement& management) = 0;
        virtual Instant next_deadline() const = 0;
    };
    /// Until it is forgotten, or another takes its place.
    void hear_connections(ConnectionHearer& hearer);
    void forget_connections(const ConnectionHearer& hearer);
    /// As peer_at. Under the lock: of use to a hearer.
    std::optional<PeerId> find_peer(const Address& address);
    /// Makes progress, unless another thread does, and then calls `take` with the port. Takes it
    /// nothing (0), a while is spent asleep rather than asking again and again, as
    /// host::SpinBudget has it: what the program waits for may need this processor.
    template <class Take>
    int polling(Take&& take);

    /// The peer at that address, which it becomes now if it is none. Nothing: there are as many as
    /// there may be, or it is not to be reached.
    std::optional<PeerId> peer_at(const Address& address);
    Address address_of(PeerId peer);
    /// Null: it is not known. Under the lock: of use to what is called there.
    const proto::ib::Gid* gid_of_peer(PeerId peer) { return port_.neighbours().gid(peer); }

    /// From now on packets may come that no call waits for. Throws std::system_error.
    void start_keeper();

    using Hearer = std::function<void(proto::ib::PortEvent::What)>;
    enum class About : std::uint8_t { completion_queue, queue_pair, shared_receive_queue };
    /// Events about it are told to `hearer`, until it is forgotten; none is told after that.
    void hear(const void* owner, About what, std::uint32_t number, Hearer hearer);
    void forget(About what, std::uint32_t number);
    /// The same of the whole device.
    enum class News : std::uint8_t { port_down, port_up, device_fatal };
    void hear_device(const void* owner, std::function<void(News)> hearer);
    bool port_is_up();
    /// Of a new queue pair: its work requests end as faults have it.
    void plan_failures(std::uint32_t number);
    /// Acknowledgements that queue pairs hold leave: of this one, which is about to end, or of all,
    /// since the process is.
    void release_acks(std::uint32_t number);
    void release_all_acks();
    /// All that this owner heard of, and its queue pairs end.
    void forget_all(const void* owner);

    std::uint32_t next_domain() { return ++domains_; }

private:
    struct Listener {
        const void* owner;
        Hearer hearer;
    };

    /// Waits for the lock, which another thread holds: it spins first, since that thread usually
    /// releases the lock sooner than a sleep would last.
    static void wait_for(std::unique_lock<std::mutex>& guard);

    /// Packets.
    struct Moved {
        std::size_t received = 0;
        std::size_t sent = 0;

        bool any() const { return received + sent > 0; }
    };
    /// Under the lock.
    Moved turn(Instant now);
    void learn_addresses();
    void tell_events();
    std::size_t send(Instant now);
    void manage(Instant now);
    std::optional<RxFrame> receive(Instant now);
    bool commit(Instant now, PeerId peer, PeerLane& lane, const TxFrame& frame);
    void tell_device(Instant now);
    void tell(const EventFault& event);
    void show_counters();
    Instant next_deadline() const {
        Instant next = earliest(port_.next_deadline(), connections_.next_deadline());
        next = earliest(next, peers_.next_deadline());
        if (faults_) next = earliest(next, faults_->next_deadline());
        return connection_hearer_ == nullptr ? next
                                             : earliest(next, connection_hearer_->next_deadline());
    }
    /// When the keeper has something to do, though no packet comes. While the program polls or
    /// posts, what is due soon is left to the program; the keeper looks in time.
    Instant keepers_deadline(Instant active_at) const {
        if (unfinished_) return Instant();
        return std::max(earliest(next_deadline(), shown_.next()), active_at + patience);
    }
    void run_keeper();
    void leave_posting(Instant now);
    void leave_polling(Instant now, bool found);
    bool keepers_turn();
    /// Outside of it.
    void nap(Instant until);

    host::SteadyClock clock_;
    Address address_;
    std::size_t path_mtu_;
    std::uint64_t seed_;
    Link link_;
    std::mutex lock_;
    Peers peers_;
    proto::ib::Port port_;
    proto::ib::CmTransport connections_;
    ConnectionHearer* connection_hearer_ = nullptr;
    std::unique_ptr<Faults> faults_;  // null: what is sent and what comes is the wire's
    std::map<const void*, std::function<void(News)>> device_hearers_;
    host::SpinBudget spin_;
    PollHabit habit_;
    PostGather gather_;
    std::vector<PeerId> ready_;  // may have packets to be sent
    std::size_t named_ = 0;      // peers whose address the port has been told
    bool unfinished_ = false;    // a turn ended at its bound of packets
    bool stalled_ = false;       // a ring was full
    ShownCounters shown_{clock_};
    std::map<std::pair<About, std::uint32_t>, Listener> hearers_;
    std::atomic<std::uint32_t> domains_ = 0;
    static constexpr Duration patience = Duration::microseconds(200);
    host::Bell bell_;  // wakes those that nap
    std::atomic<std::uint32_t> nappers_ = 0;
    Keeper keeper_{clock_};
    host::ForkWatch fork_{[this] { peers_.abandon(); }};
};

template <class Take>
int Engine::polling(Take&& take) {
    for (bool napped = false;; napped = true) {
        Instant until;
        {
            std::unique_lock guard(lock_, std::try_to_lock);
            const bool first = guard.owns_lock();
            if (!first) wait_for(guard);
            const Instant now = clock_.now();
            habit_.polled(now);
            if (napped) peers_.woke();
            const bool moved = first && turn(now).any();
            const int taken = take(port_);
            if (moved || taken != 0) spin_.heard(now);
            if (taken != 0 || napped || moved || unfinished_ || spin_.look_again(now) ||
                !peers_.prepare_to_sleep()) {
                leave_polling(now, taken != 0);
                return taken;
            }
            constexpr Duration nap_most = Duration::microseconds(200);
            until = earliest(next_deadline(), now + nap_most);
            nappers_.fetch_add(1);
        }
        nap(until);
    }
}

}  // namespace wireproof::verbs
