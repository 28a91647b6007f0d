// The arguments of a message while its handler runs, out of the reach of their sender.
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"

namespace wireproof::am {

/// A wire that lends its ring shows bytes that their sender can still change. A handler may look at
/// them twice, so it gets a copy.
class ArgumentCopy {
public:
    /// `most`: bytes of the longest message; 0: the wire lends nothing, and nothing is copied.
    explicit ArgumentCopy(std::size_t most) : bytes_(most) {}

    /// Valid until the next call.
    [[gnu::always_inline]] ConstBytes of(ConstBytes arguments) {
        if (bytes_.empty()) return arguments;
        WIREPROOF_CHECK(arguments.size() <= bytes_.size());
        copy_short(bytes_.data(), arguments.data(), arguments.size());
        // The compiler must not read the ring again in place of the copy.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return {bytes_.data(), arguments.size()};
    }

private:
    std::vector<std::byte> bytes_;
};

}  // namespace wireproof::am
