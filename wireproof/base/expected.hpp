// A value, or the reason why there is no value. Only this header names the library, so that
// std::expected can replace it when the compilers have it.
#pragma once

#include <tl/expected.hpp>

#include <string>

namespace wireproof {

/// One line for a person to read: what failed, on which object, and why.
struct Error {
    std::string message;
};

template <class T>
using Expected = tl::expected<T, Error>;

/// For hot paths and for results that nobody reads as text: a number gives the reason.
template <class T, class Reason>
using ExpectedOr = tl::expected<T, Reason>;

inline tl::unexpected<Error> unexpected(std::string message) {
    return tl::unexpected<Error>(Error{std::move(message)});
}

}  // namespace wireproof
