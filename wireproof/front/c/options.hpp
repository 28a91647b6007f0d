// The options of an endpoint, from C to C++.
#pragma once

#include "wireproof/am_values.hpp"
#include "wireproof/front/c/guard.hpp"
#include "wireproof/wireproof.h"

namespace wireproof::c {

/// Reads the options of the program into `into`. Returns OK, or writes to `why` what is wrong.
wireproof_status read_options(const wireproof_options* options, am::Options& into, const Why& why);

}  // namespace wireproof::c
