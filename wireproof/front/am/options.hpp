// What an Endpoint is opened with, read and checked: a mistake is one line that names the option.
#pragma once

#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::am {

struct ReadOptions {
    /// By node; unset: not known yet. Empty on shared memory.
    std::vector<Address> addresses;
    /// On shared memory, what stands behind "shm:".
    std::string shm_name;
    FaultRates faults = {};
    Config config;  // its seed is the user's, and may be 0

    bool on_shm() const { return addresses.empty(); }
};

Expected<ReadOptions> read_options(const Options& options);

}  // namespace wireproof::am
