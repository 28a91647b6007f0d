// WIREPROOF_CHECK stops the program if the library itself has a defect. It works in every build. A
// mistake of a peer, a wire or a user never reaches it: the code answers such a mistake with a
// verdict, a status or an Expected.
#pragma once

namespace wireproof {

/// Prints the failed condition and its place on standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace wireproof

#define WIREPROOF_CHECK(condition) \
    ((condition) ? void(0) : ::wireproof::check_failed(#condition, __FILE__, __LINE__))
