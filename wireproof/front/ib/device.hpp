// The implementations behind the public classes. Each object owns a share of the objects from which
// it was created, so these live at least as long.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <vector>

#include "wireproof/front/rdma/shown_port.hpp"
#include "wireproof/host/any_wire.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/loop_handle.hpp"
#include "wireproof/host/one_user.hpp"
#include "wireproof/host/spin_budget.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/ib.hpp"
#include "wireproof/proto/ib/cm/cm_queue_pair.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/port/port.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::ib {

/// The error if a forked child uses what its parent opened.
inline constexpr const char* closed_in_child =
    "the Device is closed: it belongs to the parent of this process";

/// How many Reads and Atomics of a queue pair may be outstanding, and how many of its peer's it may
/// remember to answer them again.
inline constexpr std::uint8_t outstanding_reads_max = 16;

struct Device::Inside {
    /// Throws std::system_error if the process may open no more descriptors. `first_queue_pair`
    /// must be random if late packets of an earlier process may arrive. With a `key_seed`, keys of
    /// memory are random: use it if others might guess keys.
    Inside(Rocev2Wire opened, const DeviceOptions& options, std::uint32_t first_queue_pair = 2,
           std::optional<std::uint64_t> key_seed = {});

    std::size_t poll(Instant now);
    Instant next_deadline() const;
    bool idle() const;
    bool wait(const std::function<bool()>& until, std::chrono::milliseconds limit);
    /// The time until poll() is due. Zero: now.
    std::chrono::nanoseconds next_timeout() const;
    /// The peer at that address. An unknown address becomes a new peer. The peer stays the same
    /// only while the port, the connections or an AddressHandle use it.
    Expected<PeerId> peer_at(const Address& address);
    /// Frees the numbers of hosts that nothing uses.
    void forget_hosts();
    /// The caller is about to sleep. Returns when it has to poll again for the counters.
    Instant before_sleep() const {
        if (!shown) return never;
        if (shown->copies_before_sleep()) shown->copy();
        return shown->next_copy();
    }
    /// "no answer", and the reason if the kernel did not send to the peer.
    std::string no_answer_of(PeerId peer) const;
    /// The congestion control of reliable queue pairs with this peer.
    proto::ib::Congestion congestion_to(PeerId peer);
    /// The address of a peer: "10.0.0.1".
    std::string host_of(PeerId peer);

    DeviceOptions options;
    host::SteadyClock clock;
    host::SpinBudget spin;
    Rocev2Wire wire;
    host::AnyWire any_wire;
    proto::ib::Port port;
    std::uint32_t domains = 0;
    // Queues whose event notified() has not taken yet.
    std::set<proto::ib::CompletionQueueId> notified;
    proto::ib::CmQueuePair cm;
    host::OneUser user{"a Device"};
    host::LoopHandle loop{wire.wait_handle()};
    bool poll_is_due = false;                // work ended outside of a poll
    std::vector<std::uint32_t> handles;      // by peer: how many AddressHandles name it
    std::unique_ptr<rdma::ShownPort> shown;  // null: its counters are not published
    host::ForkWatch fork{[this] {
        wire.abandon();
        loop.abandon();
    }};

private:
    void heed_events();
    std::size_t transmit(Instant now);
    bool has_packets() const;

    // Peers that may have packets to send; kept to reuse its memory.
    mutable std::vector<PeerId> ready_;
    Instant forget_at_;  // not before: forgetting takes a while
    // Until this time a peer that has sent packets may send them again. never: no peer may.
    Instant quiet_at_ = never;
};

/// Whether a destructor must remove its object from the port. Null: an exception ended the
/// constructor before the object was added.
inline bool must_remove_from(const std::shared_ptr<Device::Inside>& device) {
    return device != nullptr && !device->fork.forked();
}

struct CompletionQueue::Inside {
    ~Inside() {
        if (!must_remove_from(device)) return;
        const host::OneUser::Call call(device->user);
        device->port.remove(id);
        device->notified.erase(id);
    }
    std::shared_ptr<Device::Inside> device;
    proto::ib::CompletionQueueId id{};
};

struct ProtectionDomain::Inside {
    std::shared_ptr<Device::Inside> device;
    std::uint32_t number = 0;
};

inline bool must_remove_from(const std::shared_ptr<ProtectionDomain::Inside>& domain) {
    return domain != nullptr && must_remove_from(domain->device);
}

struct MemoryRegion::Inside {
    ~Inside() {
        if (!must_remove_from(domain)) return;
        const host::OneUser::Call call(domain->device->user);
        domain->device->port.memory().end_region(key);
    }
    std::shared_ptr<ProtectionDomain::Inside> domain;
    std::span<std::byte> memory;
    std::uint32_t key = 0;
};

struct MemoryWindow::Inside {
    ~Inside() {
        if (!must_remove_from(domain)) return;
        const host::OneUser::Call call(domain->device->user);
        domain->device->port.memory().remove_window(key);
    }
    std::shared_ptr<ProtectionDomain::Inside> domain;
    std::uint32_t key = 0;
};

struct SharedReceiveQueue::Inside {
    ~Inside() {
        if (!must_remove_from(domain)) return;
        const host::OneUser::Call call(domain->device->user);
        domain->device->port.remove(id);
    }
    std::shared_ptr<ProtectionDomain::Inside> domain;
    proto::ib::SharedReceiveQueueId id{};
};

struct Listener::Inside {
    ~Inside();
    std::shared_ptr<Device::Inside> device;
    std::uint64_t service = 0;
};

struct ConnectionRequest::Inside {
    ~Inside();
    std::shared_ptr<Device::Inside> device;
    proto::ib::CmEvent event;
    std::string address;
    bool answered = false;
};

struct AddressHandle::Inside {
    Inside(std::shared_ptr<Device::Inside> of, PeerId to, std::uint32_t number, std::uint32_t key)
        : device(std::move(of)), peer(to), queue_pair(number), qkey(key) {
        if (device->handles.size() <= place()) device->handles.resize(place() + 1);
        ++device->handles[place()];
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
        if (!must_remove_from(device)) return;
        const host::OneUser::Call call(device->user);
        --device->handles[place()];
    }
    std::size_t place() const { return static_cast<std::size_t>(peer); }

    std::shared_ptr<Device::Inside> device;
    PeerId peer;
    std::uint32_t queue_pair;
    std::uint32_t qkey;
};

struct DatagramListener::Inside {
    ~Inside();
    std::shared_ptr<Device::Inside> device;
    std::uint64_t service = 0;
};

struct DatagramQuery::Inside {
    ~Inside();
    std::shared_ptr<Device::Inside> device;
    proto::ib::CmEvent event;
    std::string address;
    bool answered = false;
};

struct QueuePair::Inside {
    ~Inside();
    bool is_datagram() const { return options.transport == Transport::datagram; }
    proto::ib::Port& port() const { return domain->device->port; }
    Device::Inside& device() const { return *domain->device; }
    void fail() const {
        port().modify(number, {.state = proto::ib::QueuePairState::error});
        device().poll_is_due = true;
    }
    /// `initiator_depth`: how many Reads and Atomics may be outstanding at a peer with
    /// `peers_resources`. `responder_resources`: how many of a peer with `peers_depth` this side
    /// remembers.
    std::uint8_t initiator_depth(std::size_t peers_resources) const {
        return static_cast<std::uint8_t>(std::min(options.initiator_depth, peers_resources));
    }
    std::uint8_t responder_resources(std::size_t peers_depth = outstanding_reads_max) const {
        return static_cast<std::uint8_t>(std::min(options.responder_resources, peers_depth));
    }
    /// A Connection in which only the fields of retransmission are set.
    proto::ib::Connection retries() const;
    /// For a datagram queue pair, which starts without a peer.
    void begin_datagrams();
    /// Sets the destination in `terms`. Not ok: it cannot send to that address.
    Status put_address(proto::ib::WorkTerms& terms, const AddressHandle::Inside& to) const;
    /// `post` sends from a piece; `post_inline` copies the bytes.
    Status post(proto::ib::WorkTerms terms, const WorkOptions& how, const Piece& local) const;
    Status post_inline(proto::ib::WorkTerms terms, const WorkOptions& how,
                       std::span<const std::byte> bytes) const;
    /// Posts work that sends no packet.
    Status post_local(proto::ib::WorkTerms terms, const WorkOptions& how) const;

    std::shared_ptr<ProtectionDomain::Inside> domain;
    std::shared_ptr<CompletionQueue::Inside> sends;
    std::shared_ptr<CompletionQueue::Inside> receives;
    std::shared_ptr<SharedReceiveQueue::Inside> shared;  // null: it has its own receives
    QueuePairOptions options;
    std::uint32_t number = 0;
    std::uint32_t psn = 0;
    // For datagrams: the first piece of each receive. The engine has room here for a network header
    // in front of the message.
    std::array<std::byte, proto::ib::UdQueuePair::front_room> front{};
    std::uint32_t front_key = 0;
};

/// Polls the device until `poll` returns a value or the limit has passed. Returns the last result
/// of `poll`.
template <class Poll>
auto wait_for(Device::Inside& device, std::chrono::milliseconds limit, Poll&& poll) {
    auto found = poll();
    if (!found) device.wait([&] { return (found = poll()).has_value(); }, limit);
    return found;
}

/// With this limit, a queue pair or a queue of receives takes a few hundred MB at most.
inline constexpr std::size_t queue_max = 1 << 16;

/// The error is of the form "name is 7, not 1 to 5".
Expected<void> within(const char* name, std::size_t value, std::size_t least, std::size_t most);

proto::ib::Access access_of(const Access& access);

}  // namespace wireproof::ib
