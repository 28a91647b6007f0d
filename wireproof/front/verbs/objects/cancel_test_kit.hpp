// For tests of threads that are cancelled (pthread_cancel) while they wait in a call.
#pragma once

#include "wireproof/base/sanitizer_test_kit.hpp"

// The address sanitizer does not clear the marks that the functions of such a thread leave on its
// stack, and then finds faults where there are none.
#define WIREPROOF_CANCELS_WAITS !WIREPROOF_ADDRESS_SANITIZER
