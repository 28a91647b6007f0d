// For tests of threads that are cancelled (pthread_cancel) while they wait in a call.
#pragma once

// The address sanitizer does not clear the marks that the functions of such a thread leave on its
// stack, and then finds faults where there are none.
#if defined(__SANITIZE_ADDRESS__)
#define WIREPROOF_CANCELS_WAITS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WIREPROOF_CANCELS_WAITS 0
#endif
#endif
#ifndef WIREPROOF_CANCELS_WAITS
#define WIREPROOF_CANCELS_WAITS 1
#endif
