// For tests: hosts of the loopback network that no other test uses. Tests run at the same time, and
// all use one port.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "wireproof/base/check.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::test {

/// 127.x.y.0/24 for this process and its forked children. The process reserves it with the name of
/// a local socket, which the kernel frees when the last of these processes ends. Other network
/// namespaces have their own networks and names.
class OwnNetwork {
public:
    static constexpr unsigned first_x = 128;  // tests name addresses below in full
    static constexpr unsigned each_x = 192;   // with a larger y, an address gives no LID
    static constexpr unsigned count = 32 * each_x;

    OwnNetwork() : handle_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        WIREPROOF_CHECK(handle_ >= 0);
        const auto process = static_cast<unsigned>(::getpid());
        for (unsigned tries = 0; tries < count; ++tries) {
            number_ = (process + tries) % count;
            if (take("wireproof-test-network-" + std::to_string(number_))) return;
        }
        WIREPROOF_CHECK(false);
    }
    OwnNetwork(const OwnNetwork&) = delete;
    OwnNetwork& operator=(const OwnNetwork&) = delete;
    ~OwnNetwork() { ::close(handle_); }

    unsigned number() const { return number_; }
    Address host(std::uint8_t last) const {
        Address address{.family = Address::Family::ipv4};
        address.host = {127, static_cast<std::uint8_t>(first_x + number_ / each_x),
                        static_cast<std::uint8_t>(number_ % each_x), last};
        return address;
    }

private:
    /// A name that begins with a zero byte makes no file.
    bool take(const std::string& name) const {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::memcpy(at.sun_path + 1, name.data(), name.size());
        const auto length = offsetof(sockaddr_un, sun_path) + 1 + name.size();
        return ::bind(handle_, reinterpret_cast<sockaddr*>(&at), static_cast<socklen_t>(length)) ==
               0;
    }

    int handle_;
    unsigned number_ = 0;
};

/// Reserved before main(), so that its descriptor is already open when tests count descriptors.
inline const OwnNetwork own_network;

/// An address without a port.
inline Address own_host(unsigned last) {
    return own_network.host(static_cast<std::uint8_t>(last));
}

}  // namespace wireproof::test
