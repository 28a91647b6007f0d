// The commands of the kernel's interface to rdma_cm, version 4. A program writes them to the
// device.
#pragma once

#include <functional>
#include <memory>

#include "wireproof/base/bytes.hpp"
#include "wireproof/front/verbs/cm/core.hpp"

namespace wireproof::verbs {

/// The surroundings of a command: the descriptor to which it was written, and other descriptors by
/// number.
struct CmCaller {
    RdmaCm& rdma_cm;
    std::shared_ptr<CmChannel> channel;
    /// Returns null if the number is not a descriptor of rdma_cm.
    std::function<std::shared_ptr<CmChannel>(int)> channel_of;
};

/// Whether the command is a right request for the next event. Then the caller first waits
/// (CmChannel::await), and again if the result of run_command is ENOENT.
bool awaits_event(ConstBytes bytes);

/// Returns 0 or an errno. `bytes` is our memory. Pointers in the command lead to the program's
/// memory: the result is EFAULT if that memory is not mapped.
int run_command(const CmCaller& caller, ConstBytes bytes);

}  // namespace wireproof::verbs
