// The limits of the machine: the bare operation with as little code as possible, without engine,
// front or recovery. Both halves are pinned to processors, as the ends are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/app/perf/perf_plan.hpp"
#include "wireproof/base/histogram.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::app {

class SharedArena;

enum class LimitKind : std::uint32_t {
    none = 0,
    cache_lines = 1,     // a message there and one back, through two slots of shared memory
    ring = 2,            // slots with their length, one producer, one consumer
    copy = 3,            // memcpy between two buffers of shared memory
    copy_by_kernel = 4,  // process_vm_writev into the other process
    datagrams = 5,       // a datagram there and one back, polled
    segments = 6,        // a stream with segmentation and receive offload
    one_thread = 7,      // one thread copies into a ring and out of it
};

LimitKind limit_of(const PerfPlan& plan);
std::string limit_name(LimitKind kind);

/// The lengths of a message of a limit, in bytes.
struct LimitShape {
    std::size_t size = 0;
    std::size_t back = 0;      // of the answer, if there is one; 0: the same as size
    std::size_t datagram = 0;  // longest one on UDP, if there is an answer; 0: any

    std::size_t answer() const { return back > 0 ? back : size; }
};

/// The answering half, in the other process. `arena` may be null.
class LimitServer {
public:
    /// The socket is at the host of `at`, and the system chooses its port.
    LimitServer(LimitKind kind, const LimitShape& shape, SharedArena* arena, Address at);
    ~LimitServer();
    LimitServer(const LimitServer&) = delete;
    LimitServer& operator=(const LimitServer&) = delete;

    /// Port of the socket; 0 without a socket.
    std::uint16_t port() const { return port_; }
    bool has_half() const;
    /// Whether the measuring half has begun. Until then, its message may be lost and needed again,
    /// so the end of the protocol must still take turns.
    bool asked() const;
    /// Runs until the measuring half ends, or is silent for some seconds.
    void run();

private:
    void answer_lines();
    void drain_ring();
    void answer_datagrams();
    void drain_segments();

    LimitKind kind_;
    std::size_t size_;
    std::size_t back_;
    std::size_t datagram_;
    SharedArena* arena_;
    std::optional<UdpSocket> socket_;
    std::uint16_t port_ = 0;
};

/// The measuring half.
struct LimitClient {
    LimitKind kind = LimitKind::none;
    std::size_t size = 0;
    std::size_t back = 0;      // as in LimitShape
    std::size_t datagram = 0;  // as in LimitShape
    SharedArena* arena = nullptr;
    Address address;                   // of the socket of the other half
    std::uint64_t remote_address = 0;  // copy_by_kernel: address of the buffer there
    int remote_process = 0;
    double seconds = 0.1;
    double ticks_per_second = 1e9;

    /// half_rtt in ticks for the kinds with an answer; messages of `size` bytes for all kinds.
    PerfSlice measure();

private:
    PerfSlice ask_lines();
    PerfSlice fill_ring();
    PerfSlice copy();
    PerfSlice copy_by_kernel();
    PerfSlice ask_datagrams();
    PerfSlice send_segments();
    PerfSlice pass_through();
    std::uint64_t slice_ticks() const {
        return static_cast<std::uint64_t>(seconds * ticks_per_second);
    }
};

}  // namespace wireproof::app
