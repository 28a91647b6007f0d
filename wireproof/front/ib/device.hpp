// What stands behind the public classes. Each keeps what it was made from, so none outlives it.
#pragma once

#include <memory>
#include <unordered_map>

#include "wireproof/host/any_wire.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/ib.hpp"
#include "wireproof/proto/ib/port.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::rdma {

struct Device::Inside {
    Inside(Rocev2Wire opened, const DeviceOptions& options);

    std::size_t poll(Instant now);
    Instant next_deadline() const { return port.next_deadline(); }
    bool wait(const std::function<bool()>& until, std::chrono::milliseconds limit);
    /// The peer at that address, which it becomes now if it is none.
    Expected<PeerId> peer_at(const Address& address);

    DeviceOptions options;
    host::SteadyClock clock;
    Rocev2Wire wire;
    host::AnyWire any_wire;
    ib::Port port;
    std::unordered_map<Address, PeerId, AddressHash> peers;
    std::uint32_t domains = 0;

private:
    std::size_t transmit(Instant now);
};

struct CompletionQueue::Inside {
    ~Inside() { device->port.remove(id); }
    std::shared_ptr<Device::Inside> device;
    ib::CompletionQueueId id{};
};

struct ProtectionDomain::Inside {
    std::shared_ptr<Device::Inside> device;
    std::uint32_t number = 0;
};

struct MemoryRegion::Inside {
    ~Inside() { domain->device->port.memory().remove_region(key); }
    std::shared_ptr<ProtectionDomain::Inside> domain;
    std::span<std::byte> memory;
    std::uint32_t key = 0;
};

struct QueuePair::Inside {
    ~Inside() { domain->device->port.remove_queue_pair(number); }
    ib::Port& port() const { return domain->device->port; }
    Status post(const ib::WorkTerms& terms, const Piece& local) const;

    std::shared_ptr<ProtectionDomain::Inside> domain;
    std::shared_ptr<CompletionQueue::Inside> sends;
    std::shared_ptr<CompletionQueue::Inside> receives;
    QueuePairOptions options;
    std::uint32_t number = 0;
    std::uint32_t psn = 0;
};

/// "10.0.0.1" or "fe80::1%eth0", without a port.
Expected<Address> parse_host(std::string_view text);

}  // namespace wireproof::rdma
