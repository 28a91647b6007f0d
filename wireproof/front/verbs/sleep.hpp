// Sleeping until one of two descriptors is readable, and a descriptor to wake a thread by.
#pragma once

#include <array>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::verbs {

/// Readable from ring() on until silence(). Throws std::system_error if there is none to be had.
class Bell {
public:
    Bell();
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    ~Bell();

    int handle() const { return handle_; }
    void ring() const;
    void silence() const;

private:
    int handle_;
};

/// Until a handle is readable, the deadline, or a signal. Handles of -1 never are.
void sleep_until(const host::SteadyClock& clock, Instant deadline,
                 const std::array<int, 2>& handles);

}  // namespace wireproof::verbs
