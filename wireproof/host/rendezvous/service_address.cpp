#include "wireproof/host/rendezvous/service_address.hpp"

#include <sys/socket.h>

#include "wireproof/host/rendezvous/rendezvous_text.hpp"

namespace wireproof::host {

ServiceAddress service_address(const std::string& text) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) return {nullptr, ::freeaddrinfo};
    std::string host = text.substr(0, colon);
    const std::string port = text.substr(colon + 1);
    if (!number_of(port, 65'535)) return {nullptr, ::freeaddrinfo};
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
    return {found, ::freeaddrinfo};
}

}  // namespace wireproof::host
