// The address of a rendezvous service as text: "127.0.0.1:7000", "[fe80::1%eth0]:7000".
#pragma once

#include <netdb.h>

#include <memory>
#include <string>

namespace wireproof::host {

using ServiceAddress = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Null: the text is no numeric address with a port.
ServiceAddress service_address(const std::string& text);

}  // namespace wireproof::host
