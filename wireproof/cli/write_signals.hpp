// Signals that a write can raise: SIGPIPE for a closed pipe, SIGXFSZ beyond the limit of a file's
// size. This process ignores them, so the write returns an error. A program that this process
// executes must have them as they were before.
#pragma once

namespace wireproof::cli {

void ignore_write_signals();
/// Restores the signals as they were before.
void restore_write_signals();

}  // namespace wireproof::cli
