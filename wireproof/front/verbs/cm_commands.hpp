// Commands of the kernel's interface to rdma_cm, version 4: what a program writes to the device.
#pragma once

#include <functional>
#include <memory>

#include "wireproof/base/bytes.hpp"
#include "wireproof/front/verbs/cm_core.hpp"

namespace wireproof::verbs {

/// What a command may come across: the descriptor that it was written to, and others by number.
struct CmCaller {
    RdmaCm& rdma_cm;
    std::shared_ptr<CmChannel> channel;
    /// Null: the number is none of rdma_cm's descriptors.
    std::function<std::shared_ptr<CmChannel>(int)> channel_of;
};

/// 0 or an errno. `bytes` is memory of ours; what the command points to is the program's, and is
/// EFAULT where it is not there.
int run_command(const CmCaller& caller, ConstBytes bytes);

}  // namespace wireproof::verbs
