// A failure, described in one line for the user.
#pragma once

#include <stdexcept>
#include <utility>

#include "wireproof/base/expected.hpp"

namespace wireproof::app {

/// Exit code of a run, and of a child process, that failed.
inline constexpr int exit_failed = 1;

/// The reason for which a subcommand failed, in one line. main prints it and ends with exit_failed.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns the value, or throws a Failure with its error.
template <class T>
T opened(Expected<T> value) {
    if (!value) throw Failure(value.error().message);
    return std::move(*value);
}

}  // namespace wireproof::app
