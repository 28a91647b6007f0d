// The public interface of libibverbs. This folder defines its functions. The functions keep the
// visibility of their declarations, so the library exports all of them. This header undefines the
// macros that have the names of functions, because they would prevent the definitions.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "wireproof/host/no_cancel.hpp"

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

extern "C" {
/// For the library and its tools only. Says which kind of address a GID is.
int ibv_query_gid_type(struct ibv_context* context, std::uint8_t port, unsigned index,
                       unsigned* type);
}
#pragma GCC visibility pop

namespace wireproof::verbs {

/// An entry of a table of operations. It is null if the program did not ask for the operation.
template <class Call>
Call* offered(std::uint64_t asked, std::uint64_t flag, Call* call) {
    return (asked & flag) != 0 ? call : nullptr;
}

/// Returns what `call` returns, or the errno for an exception that `call` throws. No exception
/// leaves the library.
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

/// The same, for a function that the program calls. Each function for programs that takes a lock or
/// asks the system runs in here. The thread is not cancelled meanwhile. errno becomes the error. If
/// there is none, errno is as before: programs print it when a call fails later.
template <class Call>
int called(Call&& call) noexcept {
    const host::NoCancel no_cancel;
    const int before = errno;
    const int error = errno_of(std::forward<Call>(call));
    errno = error > 0 ? error : before;
    return error;
}

/// Returns the object that `make` stores in its argument. If `make` returns an error, the result is
/// null and errno is that error.
template <class Object, class Make>
Object* made(Make&& make) noexcept {
    Object* object = nullptr;
    const int error = called([&] { return std::forward<Make>(make)(object); });
    return error == 0 ? object : nullptr;
}

}  // namespace wireproof::verbs
