// The limit on the open descriptors of a process (ulimit -n). Its default of 1024 is too low for
// the launcher of a large job.
#pragma once

#include <sys/resource.h>

#include <cstddef>

#include "wireproof/base/expected.hpp"

namespace wireproof::launch {

class DescriptorLimit {
public:
    /// Raises the limit of this process to the number if it is lower. The error says that the
    /// system does not allow it.
    Expected<void> raise_to(std::size_t number);
    /// Sets the limit that was there before. A rank calls this, because a program may use
    /// select(2).
    void restore() const;

private:
    rlimit before_{};
    bool raised_ = false;
};

}  // namespace wireproof::launch
