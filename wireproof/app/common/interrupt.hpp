// Ctrl-C and its like as something that loops look at, so that what was begun is put away first.
#pragma once

#include "wireproof/app/common/failure.hpp"

namespace wireproof::cli {

/// A signal asked for the end. main lets it have its way once everything is put away.
class Interrupted : public Failure {
public:
    explicit Interrupted(int signal);
    int signal() const { return signal_; }

private:
    int signal_;
};

/// From now on the first SIGINT, SIGTERM or SIGHUP only leaves a note; a second one kills.
void catch_interrupts();

/// Whether a signal has come.
bool is_interrupted();

/// Throws Interrupted once a signal has come.
void check_interrupt();

}  // namespace wireproof::cli
