// Signals that a write raises: into a closed pipe, or beyond a limit of files. Here they are errors
// of the writes that meet them; a program that this process becomes has them as it would have.
#pragma once

namespace wireproof::cli {

void ignore_write_signals();
/// As they were before.
void restore_write_signals();

}  // namespace wireproof::cli
