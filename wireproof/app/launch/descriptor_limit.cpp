#include "wireproof/app/launch/descriptor_limit.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace wireproof::launch {

Expected<void> DescriptorLimit::raise_to(std::size_t number) {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0 || before_.rlim_cur >= number) return {};
    const rlimit wanted{number, before_.rlim_max};
    if (before_.rlim_max < number) {
        return unexpected(fmt::format("{} open files are needed, but the limit is {} (ulimit -Hn)",
                                      number, before_.rlim_max));
    }
    if (::setrlimit(RLIMIT_NOFILE, &wanted) != 0) {
        return unexpected(
            fmt::format("{} open files are needed: {}", number, std::strerror(errno)));
    }
    raised_ = true;
    return {};
}

void DescriptorLimit::restore() const {
    if (raised_) ::setrlimit(RLIMIT_NOFILE, &before_);
}

}  // namespace wireproof::launch
