#include "wireproof/wire/udp/shown_datagrams.hpp"

#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <system_error>

namespace wireproof {
namespace {

bool attach(int handle, std::span<sock_filter> program) {
    const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
    return ::setsockopt(handle, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof all) == 0;
}

// A raw socket shows datagrams from the IP header on. The first instruction sets X to the length of
// that header.
bool take_only(int handle, std::uint16_t port) {
    constexpr std::uint32_t everything = 0xFFFFFFFF;
    std::array<sock_filter, 5> program{{
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),  // destination port
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, everything),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
    return attach(handle, program);
}

bool take_nothing(int handle) {
    std::array<sock_filter, 1> program{{BPF_STMT(BPF_RET | BPF_K, 0)}};
    return attach(handle, program);
}

// The filter of this socket takes nothing more, so the loop ends.
void drop_what_came(int handle) {
    std::byte unused{};
    while (::recv(handle, &unused, 1, 0) >= 0) {
    }
}

}  // namespace

Expected<ShownDatagrams> ShownDatagrams::of(const UdpSocket& hiding, int receive_buffer) {
    const Address local = hiding.local_address();
    const auto failed = [&local](const char* what) {
        return unexpected("cannot " + std::string(what) + " of " + local.to_string() + ": " +
                          std::generic_category().message(errno));
    };
    ShownDatagrams shown(::socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
    if (!shown.handle_.is_open()) return failed("see the headers");
    // From its first moment, before it is bound, a raw socket takes the datagrams of every host.
    if (!take_nothing(shown.handle())) return failed("filter the datagrams");
    const SocketAddress here = to_socket_address(local);
    if (::bind(shown.handle(), &here.any, length_of(here)) != 0)
        return failed("take the datagrams");
    drop_what_came(shown.handle());
    if (!take_only(shown.handle(), local.port)) return failed("filter the datagrams");
    ::setsockopt(shown.handle(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    ::setsockopt(shown.handle(), SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer,
                 sizeof receive_buffer);
    const int on = 1;
    ::setsockopt(shown.handle(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    if (!take_nothing(hiding.handle())) return failed("leave out the other copies");
    return shown;
}

}  // namespace wireproof
