// For tests: a library with the functions of libpmi2.so.0, whose answers a test sets. A process
// that has loaded it gets it when it opens libpmi2.so.0.
#pragma once

#include <map>
#include <string>

namespace wireproof::test {

struct FakePmi2 {
    int size = 1;
    int rank = 0;
    std::string fails;                          // the name of a function that fails
    int fence_waits_on = -1;                    // the fence reads a byte from this descriptor
    std::map<std::string, std::string> values;  // by key; what others have put, too
    std::size_t fences = 0;
    std::size_t finalized = 0;
    std::size_t longest_value = 0;
};

/// The address of the only one, as the library's function fake_pmi2 gives it.
using FakePmi2Door = FakePmi2* (*)();

}  // namespace wireproof::test
