// Reads and checks the options of an Endpoint. A mistake is reported in one line that names the
// option.
#pragma once

#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

struct ReadOptions {
    /// By node; unset if not known yet. Empty on shared memory.
    std::vector<Address> addresses;
    /// On shared memory: the text after "shm:".
    std::string shm_name;
    FaultRates faults = {};
    Config config;  // its seed is that of the user and may be 0

    bool on_shm() const { return addresses.empty(); }
};

Expected<ReadOptions> read_options(const Options& options);

}  // namespace wireproof::am
