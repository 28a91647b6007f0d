// For tests: devices of one program, each with its own host address, memory and queue pair.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/host/fork_test_kit.hpp"
#include "wireproof/ib.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"

namespace wireproof::ib::test {

/// It only ends a test that hangs.
inline constexpr std::chrono::milliseconds patience(120'000);

/// The address as text, for options.
inline std::string host(unsigned number) {
    return wireproof::test::own_host(number).host_text();
}

/// For a queue pair whose peer is in another thread or process: no packet is sent again because the
/// peer got no processor.
inline constexpr std::chrono::nanoseconds never_again{0};

inline constexpr Access all{
    .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};

struct End {
    End(unsigned number, std::size_t path_mtu, const QueuePairOptions& options,
        const Access& access = all)
        : End(host(number), path_mtu, options, access) {}
    End(const std::string& address, std::size_t path_mtu, const QueuePairOptions& options,
        const Access& access = all)
        : End(DeviceOptions{.address = address, .path_mtu = path_mtu}, options, access) {}
    explicit End(const DeviceOptions& opened, const QueuePairOptions& options = {},
                 const Access& access = all)
        : device(*Device::open(opened)),
          domain(device),
          completions(device, 64),
          memory(20'000),
          region(*domain.register_memory(memory, access)),
          pair(*QueuePair::create(domain, completions, completions, options)) {}

    std::string text(std::size_t at, std::size_t size) const {
        return {reinterpret_cast<const char*>(memory.data()) + at, size};
    }
    void put(std::size_t at, std::string_view text) {
        std::memcpy(memory.data() + at, text.data(), text.size());
    }
    Remote remote(std::size_t at) const { return {region->address() + at, region->key()}; }

    Device device;
    ProtectionDomain domain;
    CompletionQueue completions;
    std::vector<std::byte> memory;
    std::optional<MemoryRegion> region;
    QueuePair pair;
};

using host::test::in_child;

/// Two connected ends.
class Devices : public testing::Test {
protected:
    void open(const QueuePairOptions& options = {}, const Access& access = all) {
        a.emplace(1, 1024, options, access);
        b.emplace(2, 512, options, access);
        connect();
    }
    void connect() {
        ASSERT_EQ(a->pair.connect(b->pair.contact(*b->region)), Status::ok);
        ASSERT_EQ(b->pair.connect(a->pair.contact()), Status::ok);
    }
    /// The next completion of an end. Polls both devices until it is there.
    Completion next(End& end) {
        const auto end_of_patience = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < end_of_patience) {
            a->device.poll();
            b->device.poll();
            if (const auto one = end.completions.poll()) return *one;
        }
        ADD_FAILURE() << "nothing completes";
        return {.id = 0xDEAD};
    }

    std::optional<End> a;
    std::optional<End> b;
};

}  // namespace wireproof::ib::test
