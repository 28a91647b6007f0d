#include "wireproof/proto/cxl/flit_crc.hpp"

#include <array>

namespace wireproof::cxl {
namespace {

constexpr std::uint16_t polynomial = 0xF053;  // without x^16

// tables[k][b]: byte b, followed by k bytes of zero.
using Tables = std::array<std::array<std::uint16_t, 256>, 8>;

constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t state = byte << 8;
        for (int bit = 0; bit < 8; ++bit) {
            state = (state & 0x8000U) != 0 ? (state << 1) ^ polynomial : state << 1;
        }
        tables[0][byte] = static_cast<std::uint16_t>(state);
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint16_t before = tables[k - 1][byte];
            tables[k][byte] = static_cast<std::uint16_t>((before << 8) ^ tables[0][before >> 8]);
        }
    }
    return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

// CXL-1. Eight bytes at a time, because the next step waits for the result of the one before.
std::uint16_t flit_crc(FlitData data) {
    std::uint32_t crc = 0;
    for (std::size_t block = data_size; block > 0; block -= 8) {
        std::uint64_t word = load_le<std::uint64_t>(data.subspan(block - 8).first<8>());
        word ^= std::uint64_t{crc} << 48;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k) crc ^= tables[k][(word >> (8 * k)) & 0xFF];
    }
    return static_cast<std::uint16_t>(crc);
}

}  // namespace wireproof::cxl
