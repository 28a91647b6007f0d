// CRC-32C (Castagnoli; reflected polynomial 0x82F63B78, register and result inverted), fed in
// pieces. The processor's own instruction where it has one, slice-by-8 tables elsewhere; both give
// the same.
#pragma once

#include <cstdint>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

class Crc32c {
public:
    void add(ConstBytes piece);
    std::uint32_t value() const { return ~state_; }

    /// The definition, a bit at a time; tests hold the fast ways against it.
    static std::uint32_t bitwise(ConstBytes bytes);
    /// Tables, whatever the processor has.
    static std::uint32_t by_tables(ConstBytes bytes);

private:
    std::uint32_t state_ = 0xFFFFFFFF;
};

}  // namespace wireproof
