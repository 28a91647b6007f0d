#include "wireproof/front/verbs/device/identity.hpp"

#include <endian.h>
#include <unistd.h>

#include <array>
#include <climits>

#include "wireproof/base/random.hpp"

namespace wireproof::verbs {

// Programs compare this number to find out whether two processes use the same adapter. All
// processes of a host have the same number.
std::uint64_t device_guid() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    ::gethostname(name.data(), name.size() - 1);
    std::uint64_t hash = 0;
    for (const char letter : name) hash = mix64(hash ^ static_cast<unsigned char>(letter));
    constexpr std::uint64_t locally_administered = std::uint64_t{1} << 57;
    constexpr std::uint64_t group = std::uint64_t{1} << 56;
    return ::htobe64((hash | locally_administered) & ~group);
}

}  // namespace wireproof::verbs
