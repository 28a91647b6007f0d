// Carry over queue pairs: the path MTU that fits, and the wires of RoCEv2.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "wireproof/app/transfer/carry_side.hpp"
#include "wireproof/app/transfer/live_end.hpp"

namespace wireproof::app {

inline constexpr std::array<std::string_view, 2> ib_protocols = {"rc", "uc"};

bool is_ib(std::string_view protocol);

/// The longest frame on the wire of this carry, in bytes. Throws Failure if no path MTU fits.
std::size_t ib_frame_max(const CarryOptions& options);

std::unique_ptr<CarrySide> make_ib_sending_side(const CarryOptions& options, host::AnyWire wire,
                                                const InputFile& file);
std::unique_ptr<CarrySide> make_ib_receiving_side(const CarryOptions& options, host::AnyWire wire,
                                                  OutputFile& file);

/// Two hosts of the loopback network, both on RoCEv2's port. Throws Failure.
LivePair rocev2_pair(const CarryOptions& options);

}  // namespace wireproof::app
