#include "wireproof/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace wireproof {

void check_failed(const char* condition, const char* file, int line) noexcept {
    std::fprintf(stderr, "wireproof: internal error: %s does not hold (%s:%d)\n", condition, file,
                 line);
    std::abort();
}

}  // namespace wireproof
