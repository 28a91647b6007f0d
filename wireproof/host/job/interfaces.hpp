// The addresses that this host has. Their ports are 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::host {

/// Whether another host could use this address: it names one host, and needs no interface.
bool can_be_named(const Address& host);

/// An address of an interface that is up.
struct OwnAddress {
    std::string interface;
    Address host;
    Address mask;

    bool same_subnet(const Address& other) const;
};

Expected<std::vector<OwnAddress>> own_interfaces();

/// The own address that the kernel would use for packets to `other`. No value: there is no route.
/// Sends nothing.
std::optional<Address> source_towards(const Address& other);

}  // namespace wireproof::host
