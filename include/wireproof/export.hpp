// What a shared library of this shows is marked with WIREPROOF_EXPORT. WIREPROOF_HIDDEN marks what
// is inside of a class that is shown but is not for users; it matters only where the library is
// built.
#pragma once

#include "wireproof/version.hpp"

#if defined(__GNUC__)
#define WIREPROOF_EXPORT __attribute__((visibility("default")))
#else
#define WIREPROOF_EXPORT
#endif

#if defined(__GNUC__) && defined(WIREPROOF_BUILDS_LIBRARY)
#define WIREPROOF_HIDDEN __attribute__((visibility("hidden")))
#else
#define WIREPROOF_HIDDEN
#endif
