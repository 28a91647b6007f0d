// Asks the kernel for the MTU of the interface of a local address.
#pragma once

#include <cstddef>

#include "wireproof/os/address.hpp"

namespace wireproof {

/// Bytes of the longest IP packet that leaves by the interface that has this address, or whose
/// network contains it: for 127.3.4.5 this is the loopback interface. An error names the address.
Expected<std::size_t> interface_mtu(const Address& local);

}  // namespace wireproof
