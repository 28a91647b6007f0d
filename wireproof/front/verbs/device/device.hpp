// The device of a process: one port, the wires to its peers, and one lock that protects them. Polls
// of completion queues and posts move packets. The keeper moves packets in the meantime.
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

#include "wireproof/front/rdma/shown_port.hpp"
#include "wireproof/front/verbs/device/keeper.hpp"
#include "wireproof/front/verbs/device/poll_habit.hpp"
#include "wireproof/front/verbs/device/poll_round.hpp"
#include "wireproof/front/verbs/device/poll_turns.hpp"
#include "wireproof/front/verbs/device/post_gather.hpp"
#include "wireproof/front/verbs/device/settings.hpp"
#include "wireproof/front/verbs/faults/faults.hpp"
#include "wireproof/front/verbs/peers/peers.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/host/wait_steps.hpp"
#include "wireproof/proto/ib/cm/cm_transport.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::verbs {

/// Any thread may call any function. The functions that the caller passes (for the port or for
/// events) run under the lock. They may call only the functions for callers that hold the lock.
class Device {
public:
    static Expected<std::shared_ptr<Device>> open(const Settings& settings);

    struct Setup {
        std::size_t path_mtu;
        std::uint64_t seed;
        Link link;
        bool shared_memory;
        proto::ib::CongestionChoice congestion;
        EmptyPoll empty_poll;
    };
    /// Throws std::system_error if the process cannot have enough descriptors.
    Device(Rocev2Wire wire, const Setup& setup);
    /// Makes packets pass through faults or into a log from now on. Throws std::system_error.
    Expected<void> tamper(const Settings& settings);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device() = default;

    /// False in a forked child. The child may call no other function of this object: a thread that
    /// does not exist in the child may hold the lock, and the socket belongs to the parent.
    bool is_ours() const { return !fork_.forked(); }
    const Address& address() const { return address_; }
    /// Our address on an InfiniBand link, from which the addresses for all LIDs follow. Null on
    /// Ethernet.
    const Address* subnet() const { return link_ == Link::infiniband ? &address_ : nullptr; }
    std::size_t path_mtu() const { return path_mtu_; }
    Instant now() const { return clock_.now(); }
    const host::SteadyClock& clock() const { return clock_; }
    /// The congestion control of RC queue pairs with the peer at that address.
    proto::ib::Congestion congestion_to(const Address& peer) const {
        return congestion_.to(!peer.is_loopback());
    }
    /// The seed of the random numbers for this device.
    std::uint64_t seed() const { return seed_; }

    /// Returns what `use` returns for the port.
    template <class Use>
    auto locked(Use&& use) {
        const std::lock_guard guard(lock_);
        const auto result = std::forward<Use>(use)(port_);
        tell_events();
        return result;
    }
    /// Like locked(), and then sends the packets that are due.
    template <class Use>
    auto posting(Use&& use) {
        const std::lock_guard guard(lock_);
        return used(std::forward<Use>(use));
    }
    /// Like posting(), for a change after which packets of peers may fail: memory is no longer
    /// registered, or a queue pair ends. An adapter has executed these packets by now, so the
    /// device first takes all that have arrived. `queue_pair` ends, if it is not 0: the
    /// acknowledgements that it holds leave first.
    template <class Use>
    auto ending(std::uint32_t queue_pair, Use&& use) {
        const std::lock_guard guard(lock_);
        take_arrived();
        if (queue_pair != 0) {
            port_.release_acks(queue_pair);
            send(clock_.now());
        }
        return used(std::forward<Use>(use));
    }
    /// For about `packets` packets of new work for a queue pair. The work leaves at once, or it
    /// waits (PostGather). If it waits, it leaves with later work, at the next poll, when an answer
    /// arrives, or when the keeper sends it (PollHabit::patience). If the work ends keys of memory,
    /// the packets that have arrived use them first, as in ending().
    struct Work {
        std::uint32_t queue_pair = 0;
        std::size_t packets = 0;
        bool ends_keys = false;
    };
    template <class Use>
    auto posting_work(const Work& work, Use&& use) {
        const std::lock_guard guard(lock_);
        if (work.ends_keys) take_arrived();
        const auto result = std::forward<Use>(use)(port_);
        const Instant now = clock_.now();
        habit_.called(now);
        if (!gather_.waits(work.packets, port_.packets_under_way(now, work.queue_pair))) send(now);
        tell_events();
        leave_posting(now);
        return result;
    }
    /// Like locked(), for a program that is about to sleep until an event comes. The keeper listens
    /// from now on.
    template <class Use>
    auto before_sleep(Use&& use) {
        const std::lock_guard guard(lock_);
        const auto result = std::forward<Use>(use)(port_);
        tell_events();
        habit_.sleeps();
        const Instant now = clock_.now();
        if (!let_keeper_listen(now, now)) keeper_.wake_by(now);
        return result;
    }
    /// Like posting(), for connection management. `use` receives the time and the management. The
    /// call receives nothing, so no timer expires in it.
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
    /// Receives the events of connection management, under the lock. If a function throws, it must
    /// have changed nothing, and it is called again in the next turn.
    class ConnectionHearer {
    public:
        virtual ~ConnectionHearer() = default;
        virtual void on_event(Instant now, proto::ib::ConnectionManagement& management,
                              const proto::ib::CmEvent& event) = 0;
        virtual void on_deadline(Instant now, proto::ib::ConnectionManagement& management) = 0;
        /// The process of a peer that the device has met has ended. What it sent before may not be
        /// read yet; it is by the next deadline.
        virtual void on_peer_end(Instant now, PeerId peer) = 0;
        virtual Instant next_deadline() const = 0;
    };
    /// The hearer receives events until it is forgotten or replaced. The caller owns it.
    void hear_connections(ConnectionHearer& hearer);
    void forget_connections(const ConnectionHearer& hearer);
    /// Like hold(), for callers that hold the lock, such as a hearer. The peer stays the same only
    /// while the port or the management uses it, so the caller must not keep the number otherwise.
    std::optional<PeerId> find_peer(const Address& address);
    /// See Peers. For callers that hold the lock.
    bool has_met(PeerId peer) const { return peers_.has_met(peer); }
    /// A completion queue of the port, as polls know it.
    struct PolledQueue {
        proto::ib::CompletionQueueId id{};
        // Under the lock.
        PollTurns::Seen turns_seen;
        PollRound::Seen rounds_seen;
    };
    /// Makes progress, unless another thread does or the poll of another queue just did
    /// (PollTurns), and then calls `take` with the port. If `take` returns 0 (it found nothing),
    /// the caller may yield or sleep for a while instead of polling again and again
    /// (host::WaitSteps): another thread or process may need this processor. It does neither with
    /// EmptyPoll::spins, or if the queue has completions nevertheless: then the program must first
    /// have the chance to poll other queues (RC-38).
    template <class Take>
    int polling(PolledQueue& queue, Take&& take);

    /// The peer at that address, until release(). The result is empty if the program names
    /// limits::hosts other hosts, or if the address cannot be reached.
    std::optional<PeerId> hold(const Address& address);
    void release(PeerId peer);
    Address address_of(PeerId peer);
    /// Null if the GID is not known. For callers that hold the lock.
    const proto::ib::Gid* gid_of_peer(PeerId peer) { return port_.neighbours().gid(peer); }

    /// From now on packets may arrive although no call waits for them. Throws std::system_error.
    void start_keeper();

    using Hearer = std::function<void(proto::ib::PortEvent::What)>;
    using About = proto::ib::PortEvent::About;
    /// `hearer` receives the events of the object until forget(). It receives none after that. If
    /// it throws, the event waits for the next turn.
    void hear(const void* owner, About what, std::uint32_t number, Hearer hearer);
    void forget(About what, std::uint32_t number);
    /// The same for events of the whole device.
    enum class News : std::uint8_t { port_down, port_up, device_fatal };
    void hear_device(const void* owner, std::function<void(News)> hearer);
    bool port_is_up();
    /// Makes work requests of a new queue pair fail, as the script of faults says.
    void plan_failures(std::uint32_t number);
    /// Sends the acknowledgements that all queue pairs hold, because the process is about to end.
    void release_all_acks();
    /// Forgets all hearers of this owner and ends its queue pairs.
    void forget_all(const void* owner);

    std::uint32_t next_domain() { return ++domains_; }

private:
    struct Listener {
        const void* owner;
        Hearer hearer;
    };

    /// Waits for the lock while another thread holds it. It spins first, because that thread
    /// usually releases the lock sooner than a sleep would last.
    void wait_for(std::unique_lock<std::mutex>& guard) const;

    /// Counts of packets.
    struct Moved {
        std::size_t received = 0;
        std::size_t sent = 0;

        bool any() const { return received + sent > 0; }
    };
    /// The caller of these functions holds the lock.
    /// Calls `use` with the port, and then sends the packets that are due.
    template <class Use>
    auto used(Use&& use) {
        const auto result = std::forward<Use>(use)(port_);
        const Instant now = clock_.now();
        send(now);
        tell_events();
        leave_posting(now);
        return result;
    }
    Moved turn(Instant now);
    void learn_address(PeerId peer);
    bool forget_hosts();
    void take_arrived();
    /// The poll of the program ends, and the program may poll other queues now.
    void found_nothing(proto::ib::CompletionQueueId queue) {
        port_.found_nothing(queue);
        tell_events();
    }
    void tell_events();
    template <class Tell>
    bool tell_or_wait(Tell&& tell);
    std::size_t send(Instant now);
    void manage(Instant now);
    bool may_expire(Instant now, std::size_t received);
    void expire_connections(Instant now);
    std::optional<RxFrame> receive(Instant now);
    bool commit(Instant now, PeerId peer, PeerLane& lane, const TxFrame& frame);
    void tell_device(Instant now);
    void tell(const EventFault& event);
    void tell(Instant now, const proto::ib::CmEvent& event);
    Instant next_deadline() const {
        if (untold_) return Instant();
        Instant next = earliest(port_.next_deadline(), deadline_of_connections());
        next = earliest(next, peers_.next_deadline());
        return faults_ ? earliest(next, faults_->next_deadline()) : next;
    }
    Instant next_copy() const { return shown_ ? shown_->next_copy() : never; }
    Instant deadline_of_connections() const {
        const Instant next = connections_.next_deadline();
        return connection_hearer_ == nullptr ? next
                                             : earliest(next, connection_hearer_->next_deadline());
    }
    /// When the keeper must act although no packet arrives. While the program polls or posts, it
    /// does what is due soon, so the keeper waits for a while after the program's last call.
    Instant keepers_deadline(Instant now, Instant active_at) const {
        if (unfinished_) return Instant();
        return std::max(earliest(next_deadline(), next_copy()), active_at + habit_.patience(now));
    }
    void run_keeper();
    void leave_posting(Instant now);
    void leave_polling(Instant now, bool found);
    bool let_keeper_listen(Instant now, Instant not_before);
    bool keepers_turn();
    static PollRound& round_of_thread();
    host::WaitSteps::Step next_step(Instant now, PolledQueue& queue);
    /// The caller does not hold the lock.
    void nap(Instant until);

    host::SteadyClock clock_;
    Address address_;
    std::size_t path_mtu_;
    std::uint64_t seed_;
    Link link_;
    proto::ib::CongestionChoice congestion_;
    EmptyPoll empty_poll_;
    std::mutex lock_;
    Peers peers_;
    proto::ib::Port port_;
    proto::ib::CmTransport connections_;
    ConnectionHearer* connection_hearer_ = nullptr;
    std::unique_ptr<Faults> faults_;  // null: packets go directly between port and wire
    std::map<const void*, std::function<void(News)>> device_hearers_;
    host::WaitSteps steps_;
    PollHabit habit_;
    PollTurns turns_;
    PollRound::Shared rounds_;
    PostGather gather_;
    std::vector<PeerId> ready_;           // peers that may have packets to send
    std::map<PeerId, std::size_t> held_;  // how often
    Instant forget_at_;                   // not before: forgetting takes a while
    bool unfinished_ = false;             // a turn ended at its limit of packets
    int unread_turns_ = 0;                // in a row: packets came faster than they were read
    bool stalled_ = false;                // a ring was full
    bool untold_ = false;                 // an event found no memory, and waits for the next turn
    std::unique_ptr<rdma::ShownPort> shown_;  // null: its counters are not published
    std::map<std::pair<About, std::uint32_t>, Listener> hearers_;
    std::atomic<std::uint32_t> domains_ = 0;
    host::Bell bell_;  // wakes threads that sleep in nap()
    Keeper keeper_{clock_};
    host::ForkWatch fork_{[this] { peers_.abandon(); }};
};

template <class Take>
int Device::polling(PolledQueue& queue, Take&& take) {
    using Step = host::WaitSteps::Step;
    for (Step step = Step::poll;;) {  // the last one, and then the next one
        Instant until;
        {
            std::unique_lock guard(lock_, std::try_to_lock);
            const bool first = guard.owns_lock();
            if (!first) wait_for(guard);
            // Posted work waits for a turn.
            const bool covered =
                first && step == Step::poll && !gather_.any() && turns_.covers(queue.turns_seen);
            int taken = covered ? take(port_) : 0;
            if (covered && taken == 0) {
                round_of_thread().looked(queue.rounds_seen, rounds_);
                found_nothing(queue.id);
                return 0;
            }
            const Instant now = clock_.now();
            habit_.polled(now);
            if (step == Step::yield) steps_.back(now);
            if (step == Step::sleep) peers_.woke();
            bool moved = false;
            if (!covered) {
                if (first) {
                    moved = turn(now).any();
                    turns_.make(queue.turns_seen);
                }
                taken = take(port_);
            }
            moved = moved || (taken == 0 && port_.completion_queue(queue.id).size() > 0);
            if (moved || taken != 0) {
                steps_.heard(now);
                rounds_.heard();
            }
            const bool waits = taken == 0 && step == Step::poll && !moved && !unfinished_;
            step = waits ? next_step(now, queue) : Step::poll;
            if (step == Step::poll) {
                if (taken == 0) found_nothing(queue.id);
                leave_polling(now, taken != 0);
                return taken;
            }
            until = earliest(next_deadline(), now + PollRound::sleep_most);
            if (step == Step::sleep) habit_.naps(until);
        }
        if (step == Step::sleep) {
            nap(until);
        } else {
            host::yield_processor();
        }
    }
}

}  // namespace wireproof::verbs
