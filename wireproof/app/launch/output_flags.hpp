// Keeps standard output and standard error as blocking as they were. ssh makes them non-blocking,
// also for the script that runs the launcher and shares them. An ssh that is killed does not undo
// this.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace wireproof::launch {

class OutputFlags {
public:
    OutputFlags() = default;
    /// Sets the flags that were there when this object was made.
    ~OutputFlags() {
        if (output_ >= 0) ::fcntl(STDOUT_FILENO, F_SETFL, output_);
        if (errors_ >= 0) ::fcntl(STDERR_FILENO, F_SETFL, errors_);
    }
    OutputFlags(const OutputFlags&) = delete;
    OutputFlags& operator=(const OutputFlags&) = delete;

private:
    int output_ = ::fcntl(STDOUT_FILENO, F_GETFL);
    int errors_ = ::fcntl(STDERR_FILENO, F_GETFL);
};

}  // namespace wireproof::launch
