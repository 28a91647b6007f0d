// Loops check for signals such as Ctrl-C, so that they can clean up before the program ends.
#pragma once

#include "wireproof/app/common/failure.hpp"

namespace wireproof::app {

/// A signal asked the program to end. main raises it again after everything is cleaned up.
class Interrupted : public Failure {
public:
    explicit Interrupted(int signal);
    int signal() const { return signal_; }

private:
    int signal_;
};

/// From now on, the first SIGINT, SIGTERM or SIGHUP only sets a flag; a second one kills the
/// process.
void catch_interrupts();

/// Whether a signal has arrived.
bool is_interrupted();

/// Throws Interrupted if a signal has arrived.
void check_interrupt();

}  // namespace wireproof::app
