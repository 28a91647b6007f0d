#include "wireproof/app/perf/perf_limit.hpp"

#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/perf/page_bytes.hpp"
#include "wireproof/app/perf/perf_datagrams.hpp"
#include "wireproof/app/perf/perf_ends.hpp"
#include "wireproof/host/ticks.hpp"

namespace wireproof::app {
namespace {

using Word = std::atomic_ref<std::uint64_t>;

constexpr std::size_t cache_line = 64;
constexpr std::uint64_t stop_word = ~std::uint64_t{0};
constexpr std::uint64_t patience = std::uint64_t{10'000'000'000};  // ticks: some seconds

// The layout of the arena: a page of words, then the slots.
constexpr std::size_t head_at = 0;  // of the ring; written by the consumer
constexpr std::size_t places_at = 4096;
constexpr std::size_t ring_slots_max = 4096;
constexpr std::size_t datagram_max = 65'507;

Word word_at(std::byte* at) {
    return Word(*reinterpret_cast<std::uint64_t*>(at));
}

std::size_t lines_of(std::size_t size) {
    return (sizeof(std::uint64_t) + size + cache_line - 1) / cache_line;
}

std::size_t ring_slots(const SharedArena& arena, std::size_t size) {
    std::size_t slots = ring_slots_max;
    while (slots > 4 && places_at + slots * lines_of(size) * cache_line > arena.size()) slots /= 2;
    return slots;
}

std::size_t clamped(const SharedArena& arena, std::size_t size) {
    return std::min(size, arena.size() / 4 - places_at);
}

[[noreturn]] void fail(const char* what) {
    throw Failure(std::string("the bare limit: ") + what + ": " + std::strerror(errno));
}

UdpSocket open_socket(Address at) {
    constexpr int buffer = 4 << 20;
    at.port = 0;
    auto socket = UdpSocket::open({at, buffer, buffer});
    if (!socket) throw Failure("the bare limit: " + socket.error().message);
    return std::move(*socket);
}

/// Frames in one super-packet: as many whole segments as 64 KiB and the limit of the kernel allow.
std::size_t segments_at_once(std::size_t segment) {
    return std::max<std::size_t>(1, std::min<std::size_t>(64, 65'000 / segment));
}

constexpr std::size_t credits = 16;  // super-packets between two answers; in flight twice as many

}  // namespace

LimitKind limit_of(const PerfPlan& plan) {
    const bool messages = plan.sends_messages();
    switch (plan.wire) {
        case PerfWire::memory: return messages ? LimitKind::one_thread : LimitKind::copy;
        case PerfWire::shm:
            if (plan.op == PerfOp::request_reply) return LimitKind::cache_lines;
            if (plan.op == PerfOp::stream) return LimitKind::ring;
            return plan.private_memory ? LimitKind::copy_by_kernel : LimitKind::copy;
        case PerfWire::udp:
            return plan.op == PerfOp::request_reply ? LimitKind::datagrams : LimitKind::segments;
    }
    return LimitKind::none;
}

std::string limit_name(LimitKind kind) {
    constexpr std::array names = {
        "none",
        "bare cache lines there and back",
        "bare ring of slots",
        "memcpy",
        "bare process_vm_writev",
        "bare polled UDP",
        "bare UDP stream with GSO and GRO",
        "a copy into a ring and one out, one thread",
    };
    return names[static_cast<std::size_t>(kind)];
}

// The answering half.

LimitServer::LimitServer(LimitKind kind, const LimitShape& shape, SharedArena* arena, Address at)
    : kind_(kind),
      size_(arena != nullptr ? clamped(*arena, shape.size) : shape.size),
      back_(arena != nullptr ? clamped(*arena, shape.answer()) : shape.answer()),
      datagram_(shape.datagram > 0 ? shape.datagram : datagram_max),
      arena_(arena) {
    if (kind == LimitKind::cache_lines || kind == LimitKind::ring) {
        const std::size_t used = kind == LimitKind::ring
                                     ? ring_slots(*arena, size_) * lines_of(size_) * cache_line
                                     : (lines_of(size_) + lines_of(back_)) * cache_line;
        std::memset(arena->data(), 0, places_at + used);
    }
    if (kind != LimitKind::datagrams && kind != LimitKind::segments) return;
    socket_ = open_socket(at);
    if (kind == LimitKind::segments && !socket_->group_received()) fail("UDP_GRO");
    port_ = socket_->local_address().port;
}

LimitServer::~LimitServer() = default;

bool LimitServer::has_half() const {
    return kind_ == LimitKind::cache_lines || kind_ == LimitKind::ring || socket_.has_value();
}

bool LimitServer::asked() const {
    if (!socket_) return word_at(arena_->data() + places_at).load() != 0;
    std::byte first{};
    return ::recv(socket_->handle(), &first, sizeof first, MSG_PEEK) >= 0;
}

void LimitServer::run() {
    if (kind_ == LimitKind::cache_lines) answer_lines();
    if (kind_ == LimitKind::ring) drain_ring();
    if (kind_ == LimitKind::datagrams) answer_datagrams();
    if (kind_ == LimitKind::segments) drain_segments();
}

void LimitServer::answer_lines() {
    std::byte* const there = arena_->data() + places_at;
    std::byte* const back = there + lines_of(size_) * cache_line;
    std::vector<std::byte> message(std::max(size_, back_));
    std::uint64_t last = host::ticks();
    for (std::uint64_t expected = 1;;) {
        const std::uint64_t seen = word_at(there).load(std::memory_order_acquire);
        if (seen == stop_word) return;
        if (seen != expected) {
            if (host::ticks() - last > patience) return;
            continue;
        }
        std::memcpy(message.data(), there + sizeof seen, size_);
        std::memcpy(back + sizeof seen, message.data(), back_);
        word_at(back).store(expected, std::memory_order_release);
        ++expected;
        last = host::ticks();
    }
}

// The first word of each slot is the round in which the slot was filled.
void LimitServer::drain_ring() {
    const std::size_t slots = ring_slots(*arena_, size_);
    const std::size_t stride = lines_of(size_) * cache_line;
    std::byte* const first = arena_->data() + places_at;
    const Word head = word_at(arena_->data() + head_at);
    std::uint64_t last = host::ticks();
    std::uint64_t sum = 0;
    for (std::uint64_t taken = 0;;) {
        std::byte* const slot = first + (taken & (slots - 1)) * stride;
        const std::uint64_t seen = word_at(slot).load(std::memory_order_acquire);
        if (seen == stop_word) break;
        if (seen != taken / slots + 1) {
            if (host::ticks() - last > patience) break;
            continue;
        }
        sum += static_cast<std::uint64_t>(slot[sizeof seen]);
        ++taken;
        if (taken % (slots / 4) == 0) {
            head.store(taken, std::memory_order_release);
            last = host::ticks();
        }
    }
    word_at(arena_->data() + cache_line).store(sum, std::memory_order_relaxed);
}

void LimitServer::answer_datagrams() {
    BareDatagrams datagrams(back_, size_, datagram_);
    std::uint64_t last = host::ticks();
    while (host::ticks() - last < patience) {
        const auto came = datagrams.receive(socket_->handle());
        if (came == BareDatagrams::Came::end) return;
        if (came != BareDatagrams::Came::whole) continue;
        datagrams.send(socket_->handle(), false);
        last = host::ticks();
    }
}

void LimitServer::drain_segments() {
    std::vector<std::byte> room(65'536);
    std::uint64_t last = host::ticks();
    std::uint64_t bytes = 0;
    const std::uint64_t answer_each = segments_at_once(size_) * size_ * credits;
    std::uint64_t answered = 0;
    while (host::ticks() - last < patience) {
        SocketAddress from{};
        socklen_t length = sizeof from;
        const ssize_t size =
            ::recvfrom(socket_->handle(), room.data(), room.size(), 0, &from.any, &length);
        if (size < 0) continue;
        if (size == 1) return;
        last = host::ticks();
        bytes += static_cast<std::uint64_t>(size);
        if (bytes - answered < answer_each) continue;
        answered = bytes;
        ::sendto(socket_->handle(), &bytes, sizeof bytes, 0, &from.any, length);
    }
}

// The measuring half.

PerfSlice LimitClient::measure() {
    if (back == 0) back = size;
    if (datagram == 0) datagram = datagram_max;
    if (arena != nullptr) {
        size = clamped(*arena, size);
        back = clamped(*arena, back);
    }
    switch (kind) {
        case LimitKind::none: break;
        case LimitKind::cache_lines: return ask_lines();
        case LimitKind::ring: return fill_ring();
        case LimitKind::copy: return copy();
        case LimitKind::copy_by_kernel: return copy_by_kernel();
        case LimitKind::datagrams: return ask_datagrams();
        case LimitKind::segments: return send_segments();
        case LimitKind::one_thread: return pass_through();
    }
    return {};
}

PerfSlice LimitClient::ask_lines() {
    std::byte* const there = arena->data() + places_at;
    std::byte* const here = there + lines_of(size) * cache_line;
    std::vector<std::byte> message(std::max(size, back), std::byte{7});
    PerfSlice slice;
    const std::uint64_t begin = host::ticks();
    std::uint64_t before = begin;
    for (std::uint64_t n = 1; before - begin < slice_ticks(); ++n) {
        std::memcpy(there + sizeof n, message.data(), size);
        word_at(there).store(n, std::memory_order_release);
        while (word_at(here).load(std::memory_order_acquire) != n) {
            if (host::ticks() - before > patience) throw Failure("the bare limit: no answer");
        }
        std::memcpy(message.data(), here + sizeof n, back);
        const std::uint64_t now = host::ticks();
        slice.half_rtt.add((now - before) / 2);
        before = now;
        ++slice.messages;
    }
    slice.seconds = static_cast<double>(before - begin) / ticks_per_second;
    word_at(there).store(stop_word, std::memory_order_release);
    return slice;
}

PerfSlice LimitClient::fill_ring() {
    const std::size_t slots = ring_slots(*arena, size);
    const std::size_t stride = lines_of(size) * cache_line;
    std::byte* const first = arena->data() + places_at;
    const Word head = word_at(arena->data() + head_at);
    std::vector<std::byte> message(size, std::byte{7});
    PerfSlice slice;
    std::uint64_t filled = 0;
    std::uint64_t taken = 0;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    while (now - begin < slice_ticks()) {
        for (int i = 0; i < 32; ++i) {
            std::uint64_t waited = 0;
            while (filled - taken == slots) {
                taken = head.load(std::memory_order_acquire);
                if (++waited % 4096 == 0 && host::ticks() - now > patience) {
                    throw Failure("the bare limit: no answer");
                }
            }
            std::byte* const slot = first + (filled & (slots - 1)) * stride;
            std::memcpy(slot + sizeof filled, message.data(), size);
            word_at(slot).store(filled / slots + 1, std::memory_order_release);
            ++filled;
        }
        now = host::ticks();
    }
    slice.messages = filled;
    slice.seconds = static_cast<double>(now - begin) / ticks_per_second;
    while (filled - taken == slots) taken = head.load(std::memory_order_acquire);
    word_at(first + (filled & (slots - 1)) * stride).store(stop_word, std::memory_order_release);
    return slice;
}

PerfSlice LimitClient::copy() {
    PageBytes source(size);
    PageBytes own(arena != nullptr ? 0 : size);
    std::memset(source.bytes().data(), 7, size);
    std::byte* const to = arena != nullptr ? arena->data() + places_at : own.bytes().data();
    PerfSlice slice;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    while (now - begin < slice_ticks()) {
        std::memcpy(to, source.bytes().data(), size);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        ++slice.messages;
        now = host::ticks();
    }
    slice.seconds = static_cast<double>(now - begin) / ticks_per_second;
    return slice;
}

PerfSlice LimitClient::copy_by_kernel() {
    PageBytes source(size);
    std::memset(source.bytes().data(), 7, size);
    PerfSlice slice;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    while (now - begin < slice_ticks()) {
        const iovec from{source.bytes().data(), size};
        const iovec to{reinterpret_cast<void*>(static_cast<std::uintptr_t>(remote_address)), size};
        if (::process_vm_writev(remote_process, &from, 1, &to, 1, 0) < 0) return {};
        ++slice.messages;
        now = host::ticks();
    }
    slice.seconds = static_cast<double>(now - begin) / ticks_per_second;
    return slice;
}

namespace {

UdpSocket connected_to(const Address& there) {
    UdpSocket socket = open_socket({.family = there.family});
    if (!socket.connect(there)) fail("connect");
    return socket;
}

}  // namespace

PerfSlice LimitClient::ask_datagrams() {
    const UdpSocket socket = connected_to(address);
    BareDatagrams datagrams(size, back, datagram);
    PerfSlice slice;
    const std::uint64_t begin = host::ticks();
    std::uint64_t before = begin;
    while (before - begin < slice_ticks()) {
        datagrams.send(socket.handle(), true);
        std::uint64_t waited = 0;
        while (datagrams.receive(socket.handle()) != BareDatagrams::Came::whole) {
            if (++waited % 4096 == 0 && host::ticks() - before > patience / 10) break;  // lost
        }
        const std::uint64_t now = host::ticks();
        slice.half_rtt.add((now - before) / 2);
        before = now;
        ++slice.messages;
    }
    slice.seconds = static_cast<double>(before - begin) / ticks_per_second;
    for (int i = 0; i < 3; ++i) ::send(socket.handle(), nullptr, 0, 0);
    return slice;
}

PerfSlice LimitClient::send_segments() {
    const UdpSocket socket = connected_to(address);
    const std::size_t count = segments_at_once(size);
    const int segment = static_cast<int>(size);
    if (::setsockopt(socket.handle(), SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) {
        fail("UDP_SEGMENT");
    }
    const std::vector<std::byte> packet(size * count, std::byte{7});
    PerfSlice slice;
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    const std::uint64_t allowed = packet.size() * credits * 2;
    const std::uint64_t begin = host::ticks();
    std::uint64_t now = begin;
    std::uint64_t progress = begin;
    while (now - begin < slice_ticks()) {
        std::uint64_t told = 0;
        while (::recv(socket.handle(), &told, sizeof told, 0) == sizeof told) {
            answered = told;
            progress = now;
        }
        if (sent - answered < allowed) {
            if (::send(socket.handle(), packet.data(), packet.size(), 0) > 0) sent += packet.size();
        } else if (now - progress > slice_ticks() / 10) {
            answered = sent;  // some bytes were lost: continue without them
            progress = now;
        }
        now = host::ticks();
    }
    slice.messages = sent / size;
    slice.seconds = static_cast<double>(now - begin) / ticks_per_second;
    const int whole = 0;
    ::setsockopt(socket.handle(), SOL_UDP, UDP_SEGMENT, &whole, sizeof whole);
    for (int i = 0; i < 3; ++i) ::send(socket.handle(), "", 1, 0);
    return slice;
}

PerfSlice LimitClient::pass_through() {
    constexpr std::size_t slots = 256;
    const std::size_t stride = lines_of(size) * cache_line;
    std::vector<std::byte> ring(slots * stride);
    std::vector<std::byte> message(size, std::byte{7});
    std::vector<std::byte> out(size);
    PerfSlice slice;
    const std::uint64_t begin = host::ticks();
    std::uint64_t before = begin;
    // One message there and one back, like a request and its reply.
    for (std::size_t n = 0; before - begin < slice_ticks(); n += 2) {
        for (std::size_t i = 0; i < 2; ++i) {
            std::byte* const slot = ring.data() + ((n + i) & (slots - 1)) * stride;
            std::memcpy(slot, message.data(), size);
            std::atomic_signal_fence(std::memory_order_seq_cst);
            std::memcpy(out.data(), slot, size);
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        const std::uint64_t now = host::ticks();
        slice.half_rtt.add((now - before) / 2);
        before = now;
        slice.messages += 2;
    }
    slice.seconds = static_cast<double>(before - begin) / ticks_per_second;
    return slice;
}

}  // namespace wireproof::app
