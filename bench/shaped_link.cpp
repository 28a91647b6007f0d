// A link between two network devices: it carries Ethernet frames from each of them to the other at
// a limited rate, with a delay, and through a queue that drops at its tail. bench/share_link uses
// it because many kernels are built without tc's netem, the usual way to delay packets.
//
//   shaped_link DEVICE DEVICE MBIT_PER_S DELAY_US QUEUE_BYTES      the delay of one direction
//
// For each line on standard input, it prints one line of JSON: the time, and how much the direction
// from the first device to the second has carried since the start. It ends with standard input.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <vector>

namespace {

constexpr std::size_t frame_max = 1514;  // MTU 1500
constexpr std::size_t batch = 64;        // frames of one system call
constexpr std::int64_t tick = 50'000;    // ns between two looks while frames are under way
constexpr unsigned ticks_to_ask = 20;    // between two looks at standard input

[[noreturn]] void fail(const char* what, const char* why) {
    std::fprintf(stderr, "shaped_link: %s: %s\n", what, why);
    std::exit(1);
}

std::int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int open_device(const char* name) {
    const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    if (fd < 0) fail("packet socket", std::strerror(errno));
    const int on = 1;
    const int buffer = 32 << 20;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(::if_nametoindex(name));
    // Frames that this program sends must not come back to it.
    if (address.sll_ifindex == 0 ||
        ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) != 0 ||
        ::setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) != 0) {
        fail(name, std::strerror(errno));
    }
    (void)::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
    (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer));
    return fd;
}

struct Shape {
    double ns_per_byte = 0;
    std::int64_t delay = 0;  // ns
    double queue = 0;        // bytes
};

/// Frames in one direction. Their times are computed when they arrive, so the rate is right even if
/// this process is late.
class Direction {
public:
    Direction(int from, int to, const Shape& shape) : from_(from), to_(to), shape_(shape) {
        for (std::size_t i = 0; i < batch; ++i) {
            rooms_[i] = {arrived_[i].data(), frame_max};
            messages_[i] = {};
            messages_[i].msg_hdr.msg_iov = &rooms_[i];
            messages_[i].msg_hdr.msg_iovlen = 1;
        }
    }

    void receive(std::int64_t now) {
        const int count = ::recvmmsg(from_, messages_.data(), batch, MSG_TRUNC, nullptr);
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const std::size_t size = messages_[at].msg_len;
            if (size > frame_max) fail("a frame is too long", "switch segmentation offload off");
            enter(now, arrived_[at].data(), size);
        }
    }

    void send(std::int64_t now) {
        std::array<iovec, batch> parts{};
        std::array<mmsghdr, batch> leaving{};
        while (!frames_.empty() && frames_.front().due <= now) {
            unsigned count = 0;
            while (count < std::min(batch, frames_.size()) && frames_[count].due <= now) {
                parts[count] = {frames_[count].bytes.data(), frames_[count].size};
                leaving[count].msg_hdr.msg_iov = &parts[count];
                leaving[count].msg_hdr.msg_iovlen = 1;
                ++count;
            }
            const int sent = ::sendmmsg(to_, leaving.data(), count, 0);
            if (sent <= 0) return;  // no buffer; the frames leave at the next look
            for (unsigned i = 0; i < static_cast<unsigned>(sent); ++i) count_front();
        }
    }

    bool empty() const { return frames_.empty(); }

    void print(std::int64_t now) const {
        std::printf(R"({"seconds": %.6f, "waited": %.6f, "dropped": %llu, "bytes": {)",
                    static_cast<double>(now) * 1e-9, waited_,
                    static_cast<unsigned long long>(dropped_));
        const char* comma = "";
        for (const auto& [port, bytes] : bytes_) {
            std::printf("%s\"%u\": %llu", comma, port, static_cast<unsigned long long>(bytes));
            comma = ", ";
        }
        std::puts("}}");
        std::fflush(stdout);
    }

private:
    struct Frame {
        std::int64_t due = 0;
        std::size_t size = 0;
        std::array<std::byte, frame_max> bytes;
    };

    void enter(std::int64_t now, const std::byte* bytes, std::size_t size) {
        const std::int64_t wait = std::max<std::int64_t>(free_at_ - now, 0);
        const auto length = static_cast<double>(size);
        if (static_cast<double>(wait) / shape_.ns_per_byte + length > shape_.queue) {
            ++dropped_;
            return;
        }
        // The sum of what each byte waited, divided by time, is the mean length of the queue.
        waited_ += static_cast<double>(wait) * 1e-9 * length;
        free_at_ = now + wait + static_cast<std::int64_t>(length * shape_.ns_per_byte);
        Frame& frame = frames_.emplace_back();
        frame.due = free_at_ + shape_.delay;
        frame.size = size;
        std::memcpy(frame.bytes.data(), bytes, size);
    }

    void count_front() {
        const Frame& frame = frames_.front();
        bytes_[port_of(frame.bytes.data(), frame.size)] += frame.size;
        frames_.pop_front();
    }

    /// The destination port of TCP or UDP over IPv4 without options; 0 for all else.
    static unsigned port_of(const std::byte* bytes, std::size_t size) {
        const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
        if (size < 38 || at(12) != 8 || at(13) != 0 || at(14) != 0x45) return 0;
        return at(23) == IPPROTO_TCP || at(23) == IPPROTO_UDP ? at(36) << 8 | at(37) : 0;
    }

    int from_;
    int to_;
    Shape shape_;
    std::int64_t free_at_ = 0;  // when the link has sent all that it accepted
    std::deque<Frame> frames_;
    double waited_ = 0;  // byte seconds
    std::uint64_t dropped_ = 0;
    std::map<unsigned, std::uint64_t> bytes_;
    std::array<std::array<std::byte, frame_max>, batch> arrived_{};
    std::array<iovec, batch> rooms_{};
    std::array<mmsghdr, batch> messages_{};
};

/// Answers a line on standard input. Returns false at its end.
bool answer(const Direction& forward) {
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) return false;
    if (byte == '\n') forward.print(now_ns());
    return true;
}

void carry(Direction& forward, Direction& back, int first, int second) {
    std::array<pollfd, 3> inputs{
        {{STDIN_FILENO, POLLIN, 0}, {first, POLLIN, 0}, {second, POLLIN, 0}}};
    for (unsigned turn = 0;; ++turn) {
        // A wake-up for each frame would cost too much, so the link looks at its tick.
        const bool idle = forward.empty() && back.empty();
        if (!idle) {
            const timespec pause{0, tick};
            ::nanosleep(&pause, nullptr);
        }
        if (idle || turn % ticks_to_ask == 0) {
            const int ready = ::poll(inputs.data(), idle ? inputs.size() : 1, idle ? -1 : 0);
            if (ready > 0 && inputs[0].revents != 0 && !answer(forward)) return;
        }
        const std::int64_t now = now_ns();
        for (Direction* direction : {&forward, &back}) {
            direction->receive(now);
            direction->send(now);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fputs("usage: shaped_link DEVICE DEVICE MBIT_PER_S DELAY_US QUEUE_BYTES\n", stderr);
        return 2;
    }
    const Shape shape{8e3 / std::atof(argv[3]), static_cast<std::int64_t>(std::atof(argv[4]) * 1e3),
                      std::max(std::atof(argv[5]), 2.0 * frame_max)};
    if (!(shape.ns_per_byte > 0) || shape.delay < 0) fail("the shape", "not a rate and a delay");
    const int first = open_device(argv[1]);
    const int second = open_device(argv[2]);
    // The ends poll and take all processors; the link must go on beside them.
    const sched_param priority{10};
    if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        (void)::setpriority(PRIO_PROCESS, 0, -20);
    }
    Direction forward(first, second, shape);
    Direction back(second, first, shape);
    forward.print(now_ns());  // it is ready
    carry(forward, back, first, second);
}
