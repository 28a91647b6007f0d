// The public interface of libibverbs, whose functions this folder defines. They keep the visibility
// of their declarations, so all of them are exported; the macros of the same names would be in the
// way of their definitions.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

extern "C" {
/// Private to the library and its tools: what kind of address a GID is.
int ibv_query_gid_type(struct ibv_context* context, std::uint8_t port, unsigned index,
                       unsigned* type);
}
#pragma GCC visibility pop

namespace wireproof::verbs {

/// An entry of a table of operations: null, unless the program asked for it.
template <class Call>
Call* offered(std::uint64_t asked, std::uint64_t flag, Call* call) {
    return (asked & flag) != 0 ? call : nullptr;
}

/// What `call` returns, or the errno of what it threw: no exception leaves the library.
template <class Call>
int errno_of(Call&& call) noexcept {
    try {
        return std::forward<Call>(call)();
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const std::length_error&) {
        return ENOMEM;
    } catch (const std::system_error& error) {
        return error.code().value();
    } catch (...) {
        return EIO;
    }
}

/// The object that `make` leaves in its argument, or null, with errno set to what it returned.
template <class Object, class Make>
Object* made(Make&& make) noexcept {
    Object* object = nullptr;
    const int error = errno_of([&] { return std::forward<Make>(make)(object); });
    if (error == 0) return object;
    errno = error;
    return nullptr;
}

}  // namespace wireproof::verbs
