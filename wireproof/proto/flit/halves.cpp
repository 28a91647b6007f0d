#include "wireproof/proto/flit/halves.hpp"

#include <algorithm>
#include <cstring>

#include "wireproof/proto/flit/ecc.hpp"

namespace wireproof::flit {
namespace {

constexpr std::size_t data_at = 2;
constexpr std::size_t length_at = data_at + even_message_max;
constexpr std::size_t even_crc_at = length_at + length_size;
constexpr std::size_t ecc_at = half_size + odd_message_max;
constexpr std::size_t odd_crc_at = ecc_at + ecc_size;
static_assert(even_crc_at + half_crc_size == half_size);
static_assert(odd_crc_at + half_crc_size == flit_max);
static_assert(even_message_max + odd_message_max + length_size ==
              Shape::of(Format::cxl_halves).data_size);

constexpr std::size_t message_max = even_message_max + odd_message_max;

ConstBytes even_covered(ConstBytes flit) {
    return flit.first(even_crc_at);
}
ConstBytes odd_covered(ConstBytes flit) {
    return flit.subspan(half_size, odd_message_max);
}

bool crc_fits(CrcOrder order, ConstBytes covered, ConstBytes crc) {
    const auto expected = half_crc(covered, order);
    return std::equal(expected.begin(), expected.end(), crc.begin());
}
bool even_fits(CrcOrder order, ConstBytes flit) {
    return crc_fits(order, even_covered(flit), flit.subspan(even_crc_at, half_crc_size));
}
bool odd_fits(CrcOrder order, ConstBytes flit) {
    return crc_fits(order, odd_covered(flit), flit.subspan(odd_crc_at, half_crc_size));
}

// The ECC functions expect the ECC behind the 250 bytes that it covers. The CRC of the odd half,
// which is behind the ECC, moves by 6 bytes, so each byte stays in its group of three.
using Gathered = std::array<std::byte, flit_max>;

Gathered with_ecc_last(std::span<const std::byte, flit_max> flit) {
    Gathered gathered;
    auto to = std::copy_n(flit.begin(), ecc_at, gathered.begin());
    to = std::copy_n(flit.begin() + odd_crc_at, half_crc_size, to);
    std::copy_n(flit.begin() + ecc_at, ecc_size, to);
    return gathered;
}

/// False: the ECC finds no error, or cannot correct the flit. Then the flit is unchanged.
bool correct(std::span<std::byte, flit_max> flit) {
    Gathered gathered = with_ecc_last(flit);
    const EccFinding found = ecc_find(gathered);
    if (found.result != EccResult::corrected) return false;
    found.apply(std::span(gathered).first<ecc_covers>());
    std::copy_n(gathered.begin(), ecc_at, flit.begin());
    std::copy_n(gathered.begin() + ecc_at, half_crc_size, flit.begin() + odd_crc_at);
    return true;
}

}  // namespace

void write_halves(CrcOrder order, const Header& header, ConstBytes message, TxFrame& out) {
    const auto flit = out.add_all(flit_max).first<flit_max>();
    const ConstBytes even = message.first(std::min(message.size(), even_message_max));
    const ConstBytes odd = message.subspan(even.size());
    std::memset(flit.data(), 0, flit.size());
    header.encode(Format::cxl_halves, flit.data());
    std::copy(even.begin(), even.end(), flit.begin() + data_at);
    flit[length_at] = static_cast<std::byte>(message.size());
    std::copy(odd.begin(), odd.end(), flit.begin() + half_size);
    if (out.wants_check()) write_half_checks(order, flit);
}

void write_half_checks(CrcOrder order, std::span<std::byte, flit_max> flit) {
    const auto even = half_crc(even_covered(flit), order);
    std::copy(even.begin(), even.end(), flit.begin() + even_crc_at);
    const auto odd = half_crc(odd_covered(flit), order);
    std::copy(odd.begin(), odd.end(), flit.begin() + odd_crc_at);
    const Gathered gathered = with_ecc_last(flit);
    const auto ecc = flit_ecc(std::span(gathered).first<ecc_covers>());
    std::copy(ecc.begin(), ecc.end(), flit.begin() + ecc_at);
}

HalvesFinding find_halves(CrcOrder order, bool corrects, std::span<std::byte, flit_max> flit) {
    using Even = HalvesFinding::Even;
    HalvesFinding found;
    const bool even_before = even_fits(order, flit);
    const bool odd_before = odd_fits(order, flit);
    found.even = even_before ? Even::as_received : Even::none;
    found.valid = even_before && odd_before;
    if (found.valid || !corrects) return found;
    found.changed = correct(flit);
    if (!found.changed) return found;
    const bool even_after = even_fits(order, flit);
    const bool odd_after = odd_fits(order, flit);
    found.suspect = (even_before && !even_after) || (odd_before && !odd_after);  // CXL-14
    found.valid = even_after && odd_after;
    if (even_after && !even_before && !found.suspect) found.even = Even::corrected;
    return found;
}

std::optional<EvenHalf> EvenHalf::of(ConstBytes flit) {
    const auto length = std::to_integer<std::size_t>(flit[length_at]);
    if (length > message_max) return std::nullopt;
    return EvenHalf{flit.subspan(data_at, std::min(length, even_message_max)), length};
}

std::optional<ConstBytes> join_halves(std::span<std::byte, flit_max> flit) {
    const auto even = EvenHalf::of(flit);
    if (!even) return std::nullopt;
    const std::size_t rest = even->length - even->message.size();
    std::copy_n(flit.begin() + half_size, rest, flit.begin() + length_at);
    return ConstBytes(flit).subspan(data_at, even->length);
}

}  // namespace wireproof::flit
