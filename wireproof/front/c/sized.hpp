// Structs of C that begin with their size and grow: wireproof.h has the rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "wireproof/wireproof.h"

namespace wireproof::c {

inline constexpr std::size_t size_max = 4096;

/// T is a struct that the library knows in this version. The program may know another version.
template <class T>
concept Sized = std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T> && offsetof(T, size)
== 0 && sizeof(T) % sizeof(std::size_t) == 0 && sizeof(T) <= size_max;

inline bool is_possible_size(std::size_t size) {
    return size >= sizeof(std::size_t) && size <= size_max && size % sizeof(std::size_t) == 0;
}

/// The size that a struct begins with. The struct may be shorter than this version knows it, so it
/// is read as bytes.
inline std::size_t size_of(const void* begin) {
    std::size_t size = 0;
    std::memcpy(&size, begin, sizeof size);
    return size;
}

/// Copies the members that the program set over the defaults in `into`. False: NULL, a wrong size,
/// or the program set members that this version does not know.
template <Sized T>
bool read_sized(const T* from, T& into) {
    if (from == nullptr || !is_possible_size(size_of(from))) return false;
    const auto bytes = std::span(reinterpret_cast<const std::byte*>(from), size_of(from));
    const std::size_t known = std::min(bytes.size(), sizeof(T));
    const auto unknown = bytes.subspan(known);
    if (std::any_of(unknown.begin(), unknown.end(), [](std::byte b) { return b != std::byte{}; })) {
        return false;
    }
    std::memcpy(&into, from, known);
    into.size = sizeof(T);
    return true;
}

/// Whether `to` is a struct to which write_sized may write.
template <Sized T>
bool is_writable(const T* to) {
    return to != nullptr && is_possible_size(size_of(to));
}

/// Fills the `size` bytes at `to` and sets the member `size`; 0 for members that are not in T.
template <Sized T>
void write_sized(const T& from, T* to, std::size_t size) {
    auto* const bytes = reinterpret_cast<std::byte*>(to);
    const std::size_t known = std::min(size, sizeof(T));
    std::memcpy(bytes, &from, known);
    std::memset(bytes + known, 0, size - known);
    std::memcpy(bytes, &size, sizeof size);
}

/// As an init function of wireproof.h: sets all bytes to the defaults.
template <Sized T>
wireproof_status init_sized(const T& defaults, T* to, std::size_t size) {
    if (to == nullptr || !is_possible_size(size)) return WIREPROOF_BAD_ARGUMENT;
    write_sized(defaults, to, size);
    return WIREPROOF_OK;
}

}  // namespace wireproof::c
