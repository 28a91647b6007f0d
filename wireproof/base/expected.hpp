// A value or the reason why there is none. One header spells the library, so that std::expected can
// take its place once the compilers in use have it.
#pragma once

#include <tl/expected.hpp>

#include <string>

namespace wireproof {

/// One line for a person: what could not be done, with which thing, and why.
struct Error {
    std::string message;
};

template <class T>
using Expected = tl::expected<T, Error>;

/// Where a number says why: on hot paths, and where nobody reads.
template <class T, class Reason>
using ExpectedOr = tl::expected<T, Reason>;

inline tl::unexpected<Error> unexpected(std::string message) {
    return tl::unexpected<Error>(Error{std::move(message)});
}

}  // namespace wireproof
