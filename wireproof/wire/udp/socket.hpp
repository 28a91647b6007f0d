// One nonblocking UDP socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "wireproof/os/descriptor.hpp"
#include "wireproof/os/socket_address.hpp"

namespace wireproof {

/// Where frames to a peer go, and from where.
struct Route {
    SocketAddress to{};
    Address from{};          // of this host; its port does not count. Unset: the kernel chooses
    bool connected = false;  // the socket is connected to `to`, and has its own address
};

/// Whether the kernel accepted the option.
bool set_option(int handle, int level, int name, int value);

/// So many datagrams the kernel takes or gives in one system call at most.
inline constexpr std::size_t system_call_datagrams_max = 1024;

/// Explicit congestion notification (RFC 3168): a router whose queue is long marks packets instead
/// of dropping them, if their sender says that its transport answers marks.
enum class Ecn : std::uint8_t {
    off,
    read,  // the wire reports the marks of received frames
    on,    // and frames leave as ECT(0), so that routers may mark them
};

/// For a node with this address. `controls`: it uses congestion control with at least one peer. A
/// peer that uses ECN must learn of its marks from this node, even if this node does not. On
/// loopback, no router marks a frame.
inline Ecn ecn_at(const Address& own, bool controls) {
    if (controls) return Ecn::on;
    return own.is_loopback() ? Ecn::off : Ecn::read;
}

/// Sets whether the kernel reports with each received datagram how many it dropped before, and
/// whether it leaves super-packets whole and reports the length of their frames. False: the kernel
/// refuses.
bool describe_received(int handle, bool described);

class UdpSocket {
public:
    struct Config {
        Address local;
        int receive_buffer = 0;  // bytes wanted
        int send_buffer = 0;
    };

    static Expected<UdpSocket> open(const Config& config);

    /// For a forked child: closes its copy of the socket.
    void abandon() { handle_.close(); }

    int handle() const { return handle_.handle(); }

    /// Whether the kernel takes several frames of one length as one packet (UDP_SEGMENT).
    bool segments_sent() const;
    /// Tells the kernel to leave such packets whole on arrival (UDP_GRO). False: it cannot.
    bool group_received();
    /// Tells the kernel how to treat the ECN field of this socket's datagrams. The DSCP stays as it
    /// is. Returns whether marks of received datagrams are to be read: the kernel reports them, and
    /// datagrams leave as `ecn` says.
    bool use(Ecn ecn);
    /// Tells the kernel whether to report with each received datagram at which address of this host
    /// it arrived.
    void report_destinations(bool reported);
    /// An error that another host, or this one, reported for a datagram (ICMP).
    struct Report {
        Address to;     // where the datagram went
        int error = 0;  // an errno
    };
    /// Tells the kernel to keep such reports. Without a connected peer it drops them. The kernel
    /// then also returns the error of a report from the next call that sends or receives.
    void keep_reports();
    /// Takes the next one. The socket has an error for poll() until all are taken.
    std::optional<Report> take_report();
    /// Sends frames only to this address, and receives only from it. False: not possible.
    bool connect(const Address& peer);
    /// Ends that. False: another socket took the port meanwhile.
    bool disconnect();

    Address local_address() const;

    /// The bytes that the kernel grants for frames that wait to be received, with its own
    /// bookkeeping.
    std::size_t receive_buffer() const;
    /// The same for frames that have not left the host.
    std::size_t send_buffer() const;

private:
    explicit UdpSocket(int handle) : handle_(handle) {}

    Descriptor handle_;
};

}  // namespace wireproof
