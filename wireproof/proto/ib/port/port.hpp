// One port of an adapter: many queue pairs behind one engine. The port finds the queue pair of a
// packet by its number, and accepts a packet for a connected queue pair only from the connected
// peer. Queue pairs take turns to send.
//
// The port owns everything except the memory of regions, and names all objects by number. A copy is
// therefore independent; MemoryTable::put_memory can give it other memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "wireproof/base/deadline_heap.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/peer_set.hpp"
#include "wireproof/proto/ib/port/connected_queue_pair.hpp"
#include "wireproof/proto/ib/port/queue_pair_list.hpp"
#include "wireproof/proto/ib/transport/adapter.hpp"
#include "wireproof/proto/ib/ud/queue_pair.hpp"

namespace wireproof::proto::ib {

struct PortConfig {
    std::size_t path_mtu = 1024;  // longest datagram, and largest path MTU of a queue pair
    std::vector<std::uint16_t> partitions = {default_partition};
    /// The first number for queue pairs that ask for none. Numbers count up, and continue at 2
    /// after 0xFFFFFE. It must be hard to guess if late packets of an earlier run can arrive.
    std::uint32_t first_number = 2;
    /// The seed of the memory keys. Without a seed, keys count up, which is enough for a
    /// simulation.
    std::optional<std::uint64_t> key_seed = {};
    /// Limits the packets in flight of RC with a peer. Off for searches and simulations that count
    /// packets.
    PeerWindows::Config peer_window = {};
};

/// Received frames by result, also those that no queue pair saw.
struct PortCounters {
    std::array<std::uint64_t, rx_verdict_names.size()> received{};  // all frames, by verdict
    std::array<std::uint64_t, malformed_names.size()> malformed{};  // by reason
    std::uint64_t damaged = 0;                                      // as the wire reported
    std::uint64_t unknown_queue_pair = 0;
    std::uint64_t foreign_partition = 0;
    std::uint64_t foreign_source = 0;   // not from the peer of the queue pair
    std::uint64_t wrong_transport = 0;  // not the transport of the queue pair
    std::uint64_t congestion = 0;       // congestion notifications, also those without effect

    std::uint64_t received_as(RxVerdict verdict) const {
        return received[static_cast<std::size_t>(verdict)];
    }
};

class Port {
public:
    using Delivery = PortEvent;

    explicit Port(const PortConfig& config);

    const PortConfig& config() const { return config_; }
    MemoryTable& memory() { return adapter_.memory; }
    const MemoryTable& memory() const { return adapter_.memory; }
    Neighbours& neighbours() { return adapter_.neighbours; }
    const PeerWindows& windows() const { return adapter_.windows; }
    /// Marks a peer as near, for example a peer over shared memory: packets to it are cheap and
    /// never lost, and a full path stops the sender. A near peer has no window, and the port does
    /// not hold ACKs to save packets.
    void set_near(PeerId peer, bool near) { adapter_.windows.set_near(peer, near); }

    /// Adds the peers of queue pairs, of posted datagrams, and of received datagrams whose
    /// completions were not polled. While a peer is in use, its number must not become that of
    /// another host.
    void add_used_peers(PeerSet& to) const;
    /// Nothing uses these peers, and their numbers belong to no hosts any more.
    void forget_peers(const PeerSet& gone) {
        adapter_.neighbours.forget(gone);
        adapter_.windows.forget(gone);
    }

    // Queues exist until they are removed. At that time nothing may use them.
    CompletionQueueId add_completion_queue(std::size_t capacity) {
        return adapter_.add_completion_queue(capacity);
    }
    /// Whether a queue pair uses this completion queue.
    bool is_used(CompletionQueueId id) const;
    /// Returns false if a queue pair uses it.
    bool remove(CompletionQueueId id);
    CompletionQueue& completion_queue(CompletionQueueId id) {
        return adapter_.completion_queue(id);
    }
    /// The oldest completion of the queue. RC-38: a poll may find nothing although the queue has
    /// completions, and then the next one finds them. The user must not sleep in between.
    std::optional<Completion> poll(CompletionQueueId id) {
        const auto completion = next_completion(id);
        if (!completion) found_nothing(id);
        return completion;
    }
    /// The same in steps, for a call of the user that polls several times. If all find nothing, the
    /// caller says so at the end.
    std::optional<Completion> next_completion(CompletionQueueId id) {
        return adapter_.next_completion(id);
    }
    void found_nothing(CompletionQueueId id) { adapter_.found_nothing(id); }
    /// Reports the next completion as an event, once (CompletionQueue::request_notify).
    void request_notify(CompletionQueueId id, bool solicited_only) {
        adapter_.request_notify(id, solicited_only);
    }
    SharedReceiveQueueId add_shared_receive_queue(std::uint32_t domain, std::size_t requests,
                                                  std::size_t pieces) {
        return adapter_.add_shared_receive_queue(domain, requests, pieces);
    }
    bool remove(SharedReceiveQueueId id);
    SharedReceiveQueue& shared_receive_queue(SharedReceiveQueueId id) {
        return adapter_.shared_receive_queue(id);
    }
    PostStatus post_receive(SharedReceiveQueueId id, const ReceiveRequest& request) {
        return adapter_.shared_receive_queue(id).ring.post(request);
    }

    /// Returns the number of the queue pair, or an error if the number is in use, or if the
    /// transport or a limit is not supported.
    Expected<std::uint32_t> add_queue_pair(const QueuePairConfig& config);
    /// Discards all posted work, and the completions that were not polled. Returns false if there
    /// is no such queue pair.
    bool remove_queue_pair(std::uint32_t number);
    /// The queue pair sends an acknowledgement that it holds at the next chance. Call this, and
    /// send packets, before the queue pair is removed or reset. Otherwise the peer never gets the
    /// acknowledgement.
    void release_acks(std::uint32_t number);
    ModifyStatus modify(std::uint32_t number, const QueuePairChange& change);
    PostStatus post_send(std::uint32_t number, const WorkRequest& request);
    PostStatus post_receive(std::uint32_t number, const ReceiveRequest& request);
    std::size_t queue_pairs() const { return queue_pairs_.size(); }
    /// Null if there is no such queue pair.
    const QueuePairCore* queue_pair(std::uint32_t number) const;
    /// Empty if there is no such queue pair.
    std::optional<Psns> psns(std::uint32_t number) const;
    /// The queue pair that sent the last packet.
    std::uint32_t last_sender() const { return last_turn_; }
    /// The `nth` work request from now on, counted from 1, ends with `status` at its turn, and the
    /// port sends no packet for it. For users who test how their program handles the failure. Does
    /// nothing if there is no such queue pair.
    void fail_send(std::uint32_t number, std::uint64_t nth, CompletionStatus status);
    /// The `nth` message from now on that uses a receive request, counted from 1, completes this
    /// request with `status` and puts the queue pair in error.
    void fail_receive(std::uint32_t number, std::uint64_t nth, CompletionStatus status);
    /// The oldest packet of an RC queue pair, if it was sent again and has no answer.
    Unanswered unanswered(std::uint32_t number) const;

    /// The RC packets in flight with the peer of this queue pair, over all queue pairs. While the
    /// peer waits for the program's answer, the packets of this queue pair that ask for no
    /// acknowledgement do not count. 0 if it is not an RC queue pair, or if the peer is near.
    std::uint32_t packets_under_way(Instant now, std::uint32_t number) const;

    // Engine. Queue pairs ignore the lives of peers: a queue pair whose peer is silent uses up its
    // retries.
    RxVerdict on_frame(Instant now, const RxFrame& frame);
    std::optional<Delivery> next_delivery() { return adapter_.next_event(); }
    /// next_delivery gives this event: again, because the user could not take it, or because the
    /// user tests how a program handles it. Does nothing if there is no such object.
    void report(const Delivery& event) {
        if (adapter_.has(event)) adapter_.tell(event.what, event.number);
    }
    void on_deadline(Instant now);
    void on_wire_event(Instant, WireEvent) {}
    /// Sends to any peer; for a wire with one peer.
    bool poll_transmit(Instant now, TxFrame& out) {
        return transmit(now, nullptr, PacketsOf::every, out);
    }
    Instant next_deadline() const { return timed_.earliest(); }
    /// Whether on_deadline would handle an expired answer timer or the end of an RNR wait.
    bool timeout_is_due(Instant now) const;
    void fingerprint(Instant now, Fingerprint& sink) const;

    enum class PacketsOf : std::uint8_t { every, datagrams };  // every transport; UD only
    /// Sends only packets to this peer and of these transports.
    bool poll_transmit_to(Instant now, PeerId peer, TxFrame& out,
                          PacketsOf which = PacketsOf::every) {
        return transmit(now, &peer, which, out);
    }
    /// The peers to which packets may wait, each once. The peer of the queue pair whose turn it is
    /// comes first. Replaces the contents of `peers`.
    void ready_peers(std::vector<PeerId>& peers) const { ready_.peers(last_turn_, peers); }

    const PortCounters& counters() const { return counters_; }
    /// The sum over all queue pairs, including removed ones.
    QueuePairCounters total() const;
    /// The numbers of all queue pairs, in ascending order.
    std::vector<std::uint32_t> numbers() const;

private:
    using QueuePair = std::variant<UcQueuePair, RcQueuePair, UdQueuePair>;

    RxVerdict receive(Instant now, const RxFrame& frame);
    RxVerdict on_packet(Instant now, const RxFrame& frame, const Bth& bth, const Packet* packet);
    void release_owed_ack(std::uint32_t number);
    bool in_partition(const Bth& bth, const QueuePairCore& core) const;
    bool transmit(Instant now, const PeerId* peer, PacketsOf which, TxFrame& out);
    struct Member {
        QueuePair pair;
        std::uint32_t slot = 0;
    };
    /// Returns false if there is no such transport. If there is no memory, it throws and may leave
    /// the queue pair without a slot.
    bool add(const QueuePairConfig& config);
    Member* find(std::uint32_t number);
    /// Call this after any action on a queue pair: it may now have something to send, another
    /// deadline, or a lost completion. note_asked is for a queue pair that was only asked for a
    /// packet.
    void note(std::uint32_t number, Member& member);
    void note_asked(std::uint32_t number, Member& member);
    void make_ready(std::uint32_t number, const Member& member);
    void make_ready(std::uint32_t number);
    /// Marks queue pairs that wait for room with this peer as ready, as many as may find room.
    void wake_others(PeerId peer) { wake_others(peer, last_turn_); }
    /// First those after the queue pair `last`.
    void wake_others(PeerId peer, std::uint32_t last);
    /// The same for queue pairs that wait for answers to leave (OwedAnswers).
    void wake_messages() {
        if (adapter_.owed.wakes()) make_messages_ready();
    }
    void make_messages_ready();

    PortConfig config_;
    Adapter adapter_;
    std::map<std::uint32_t, Member> queue_pairs_;
    QueuePairSlots slots_;
    QueuePairList ready_;             // all except those that had nothing to send
    DeadlineHeap timed_{0};           // by slot
    std::vector<std::uint32_t> due_;  // of on_deadline(); kept to reuse its memory
    std::uint32_t next_number_;
    std::uint32_t last_turn_ = 0;
    PortCounters counters_;
    QueuePairCounters ended_;  // of queue pairs that were removed
};

static_assert(Engine<Port>);

}  // namespace wireproof::proto::ib
