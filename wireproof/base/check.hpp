// WIREPROOF_CHECK: for our own mistakes, in every build. What comes from a peer, a wire or a user
// never reaches it: that gets a verdict, a status or an Expected.
#pragma once

namespace wireproof {

/// Prints the place and the broken condition on standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace wireproof

#define WIREPROOF_CHECK(condition) \
    ((condition) ? void(0) : ::wireproof::check_failed(#condition, __FILE__, __LINE__))
