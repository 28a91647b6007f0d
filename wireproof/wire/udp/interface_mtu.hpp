// What the interface of a local address carries, from the kernel.
#pragma once

#include <cstddef>

#include "wireproof/wire/udp/address.hpp"

namespace wireproof {

/// Bytes of the longest IP packet that leaves by the interface that has this address, or whose
/// network it is in: 127.3.4.5 is the loopback interface's. An error names the address.
Expected<std::size_t> interface_mtu(const Address& local);

}  // namespace wireproof
