#include "fake_pmi2.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

using wireproof::test::FakePmi2;

namespace {

FakePmi2 fake;

int result_of(const char* function) {
    return fake.fails == function ? 14 : 0;
}

}  // namespace

extern "C" {

FakePmi2* fake_pmi2() {
    return &fake;
}

int PMI2_Init(int* spawned, int* size, int* rank, int* application) {
    *spawned = 0;
    *application = 0;
    *size = fake.size;
    *rank = fake.rank;
    return result_of("PMI2_Init");
}

int PMI2_Finalize() {
    ++fake.finalized;
    return result_of("PMI2_Finalize");
}

int PMI2_Job_GetId(char* text, int size) {
    std::strncpy(text, "7.0", static_cast<std::size_t>(size));
    return result_of("PMI2_Job_GetId");
}

int PMI2_KVS_Put(const char* key, const char* value) {
    fake.values[key] = value;
    fake.longest_value = std::max(fake.longest_value, std::strlen(value));
    return result_of("PMI2_KVS_Put");
}

int PMI2_KVS_Fence() {
    ++fake.fences;
    char byte = 0;
    if (fake.fence_waits_on >= 0 && ::read(fake.fence_waits_on, &byte, 1) != 1) return 1;
    return result_of("PMI2_KVS_Fence");
}

int PMI2_KVS_Get(const char* job, int, const char* key, char* value, int size, int* length) {
    const auto found = fake.values.find(key);
    if (std::strcmp(job, "7.0") != 0 || found == fake.values.end()) return 1;
    const std::size_t copied = std::min(found->second.size(), static_cast<std::size_t>(size));
    std::memcpy(value, found->second.data(), copied);  // may leave no room for a zero
    *length = static_cast<int>(copied);
    return result_of("PMI2_KVS_Get");
}

}  // extern "C"
