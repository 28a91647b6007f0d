// Checks of this host: libraries, settings, address and receive buffer.
#include <dlfcn.h>
#include <fmt/format.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "wireproof/cli/doctor_checks.hpp"
#include "wireproof/cli/drop_in.hpp"
#include "wireproof/front/verbs/device/settings.hpp"
#include "wireproof/os/descriptor.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/wire/udp/icrc.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::cli {
namespace {

constexpr int stock_receive_buffer = 212'992;  // Linux's default

std::vector<std::string> folders_in(const char* variable) {
    const char* const text = std::getenv(variable);
    std::istringstream words(text != nullptr ? text : "");
    std::vector<std::string> folders;
    for (std::string one; std::getline(words, one, ':');) folders.push_back(one);
    return folders;
}

Check check_library(const std::string& folder) {
    if (folder.empty()) {
        return failed("library",
                      fmt::format("no {} in {}", drop_in_library, drop_in_folders().front()),
                      "install wireproof whole, or build the target wireproof_libibverbs");
    }
    const std::string library = folder + "/" + drop_in_library;
    void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
        return failed("library", ::dlerror(), "install what it names");
    }
    return healthy("library", library);
}

Check check_hooks(const std::string& folder) {
    if (is_file(folder + "/" + hooks_library)) return healthy("hooks", hooks_library);
    return warned(
        "hooks",
        fmt::format("{} is missing, which UCX, Open MPI and librdmacm need", hooks_library),
        "install wireproof whole");
}

/// Checks which library a program loads if it runs without `wireproof verbs`.
Check check_order(const std::string& folder) {
    for (const std::string& one : folders_in("LD_LIBRARY_PATH")) {
        if (one == folder) {
            return healthy("path", "programs find the library by LD_LIBRARY_PATH");
        }
        const std::string other = one + "/" + drop_in_library;
        if (!is_file(other)) continue;
        return warned("path", "LD_LIBRARY_PATH has " + other + " first",
                      "run programs by wireproof verbs");
    }
    return healthy("path", "programs find the library by wireproof verbs alone");
}

Check check_loopback() {
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq asked{};
    std::strcpy(asked.ifr_name, "lo");
    const bool up = socket.is_open() && ::ioctl(socket.handle(), SIOCGIFFLAGS, &asked) == 0 &&
                    (asked.ifr_flags & IFF_UP) != 0;
    if (up) return healthy("loopback", "the interface lo is up");
    return failed("loopback", "the interface lo is down or missing", "ip link set lo up");
}

Address loopback(std::uint8_t last) {
    Address address{.family = Address::Family::ipv4};
    address.port = rocev2_port;
    address.host = {127, 0, 0, last};
    return address;
}

/// Sends a datagram to the socket itself. Some firewalls and sandboxes let a program open the
/// socket but let no datagram through.
bool comes_back(const UdpSocket& socket, const Address& address) {
    const SocketAddress to = to_socket_address(address);
    // Too short for a RoCEv2 packet, so any other receiver drops it.
    if (::sendto(socket.handle(), "", 1, 0, &to.any, length_of(to)) != 1) return false;
    pollfd wanted{socket.handle(), POLLIN, 0};
    constexpr int patience_ms = 1000;
    return ::poll(&wanted, 1, patience_ms) == 1 && (wanted.revents & POLLIN) != 0;
}

Check in_use(const verbs::Settings& settings, const std::string& error) {
    if (!settings.address) {
        return failed("address", "none of 127.0.0.1 to 127.0.0.254 is free at port 4791: " + error,
                      "end a program that uses one");
    }
    return failed("address", error, "choose an address of this host that no other program uses");
}

Check check_address(const verbs::Settings& settings) {
    std::string error;
    const std::uint8_t last = settings.address ? 1 : 254;
    for (std::uint8_t host = 1; host <= last; ++host) {
        const Address address = settings.address.value_or(loopback(host));
        const auto socket = UdpSocket::open({.local = address});
        if (!socket) {
            error = socket.error().message;
            if (host == 254) break;
            continue;
        }
        if (!comes_back(*socket, address)) {
            return failed("address", address.host_text() + " carries no datagram to UDP port 4791",
                          "let it through: a firewall or a sandbox drops it");
        }
        const auto room = Rocev2Wire::frame_max_at(address);
        const std::size_t path_mtu = room ? proto::ib::path_mtu_within(*room) : 0;
        if (path_mtu == 0) {
            return failed("address", address.host_text() + " carries no path MTU",
                          "raise the MTU of its interface to 320 or more");
        }
        return healthy("address",
                       fmt::format("{} is free; path MTU {}", address.host_text(), path_mtu));
    }
    return in_use(settings, error);
}

Check check_receive_buffer(const verbs::Settings& settings) {
    int most = 0;
    std::ifstream("/proc/sys/net/core/rmem_max") >> most;
    if (most == 0) {
        return warned("buffer", "net.core.rmem_max cannot be read", "none");
    }
    const int granted = std::min(most, settings.receive_buffer);
    if (granted >= stock_receive_buffer) {
        return healthy("buffer",
                       fmt::format("up to {} bytes of received packets can wait", granted));
    }
    const bool chosen = settings.receive_buffer < stock_receive_buffer;
    return warned(
        "buffer",
        fmt::format("only {} bytes of received packets can wait, so some are lost", granted),
        chosen ? "ask for 212992 or more" : "sysctl -w net.core.rmem_max=4194304");
}

/// A child process opens the device, as a program would. Its log of packets goes to /dev/null.
Check check_device(const std::string& folder) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("WIREPROOF_VERBS_PCAPNG", "/dev/null", 1);
        void* const library =
            ::dlopen((folder + "/" + drop_in_library).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) ::_exit(1);
        const auto list = reinterpret_cast<void** (*)(int*)>(
            ::dlvsym(library, "ibv_get_device_list", "IBVERBS_1.1"));
        const auto open =
            reinterpret_cast<void* (*)(void*)>(::dlvsym(library, "ibv_open_device", "IBVERBS_1.1"));
        if (list == nullptr || open == nullptr) ::_exit(1);
        void** const devices = list(nullptr);
        const bool opened = devices != nullptr && devices[0] != nullptr && open(devices[0]);
        ::_exit(opened ? 0 : 1);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return healthy("device", "wireproof0 opens");
    }
    if (child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
        return failed("device", "a filter of system calls (seccomp) kills what opens it",
                      "run programs without the filter, or have it let them pass");
    }
    return failed("device", "wireproof0 does not open", "see the lines above");
}

/// Checks the filters of system calls of this process, which its children inherit. It cannot see
/// filters that a program or its container adds later.
Check check_filters() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        std::istringstream words(line);
        std::string name;
        int mode = 0;
        if (!(words >> name >> mode) || name != "Seccomp:") continue;
        return mode == 0 ? healthy("filters", "no system call is filtered here")
                         : healthy("filters",
                                   "system calls are filtered here (seccomp), which the device "
                                   "below has to pass");
    }
    return healthy("filters", "nothing here says whether system calls are filtered");
}

/// Checks a library of another package that programs load by name.
Check check_package(const char* library, const char* package) {
    for (const char* const folder :
         {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
          "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/lib",
          "/usr/local/lib"}) {
        if (is_file(fmt::format("{}/{}", folder, library))) {
            return healthy("package", fmt::format("{} is installed", package));
        }
    }
    return warned("package", fmt::format("{} is missing, for programs that use it", library),
                  fmt::format("apt-get install {}", package));
}

}  // namespace

std::vector<Check> check_host() {
    const std::string folder = find_drop_in();
    std::vector<Check> checks = {check_library(folder)};
    const bool loads = checks.back().health == Health::ok;
    if (loads) {
        checks.push_back(check_hooks(folder));
        checks.push_back(check_order(folder));
    }
    checks.push_back(check_package("librdmacm.so.1", "librdmacm1"));
    checks.push_back(check_loopback());
    const auto settings = verbs::settings_of_environment();
    if (!settings) {
        checks.push_back(failed("settings", settings.error().message, "mend it"));
        return checks;
    }
    checks.push_back(check_address(*settings));
    checks.push_back(check_receive_buffer(*settings));
    if (loads && checks[checks.size() - 2].health == Health::ok) {
        checks.push_back(check_filters());
        checks.push_back(check_device(folder));
    }
    return checks;
}

}  // namespace wireproof::cli
