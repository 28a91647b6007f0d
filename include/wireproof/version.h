// Which version these headers are of. Every public header includes this one, also those for C. It
// is the only place where the project's version stands.
#pragma once

#define WIREPROOF_VERSION_MAJOR 0
#define WIREPROOF_VERSION_MINOR 2
#define WIREPROOF_VERSION_PATCH 0
/// To be compared in #if: 10000 * major + 100 * minor + patch.
#define WIREPROOF_VERSION \
    (WIREPROOF_VERSION_MAJOR * 10000 + WIREPROOF_VERSION_MINOR * 100 + WIREPROOF_VERSION_PATCH)
