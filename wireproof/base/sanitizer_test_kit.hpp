// For tests: whether this build has the address sanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WIREPROOF_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WIREPROOF_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef WIREPROOF_ADDRESS_SANITIZER
#define WIREPROOF_ADDRESS_SANITIZER 0
#endif
