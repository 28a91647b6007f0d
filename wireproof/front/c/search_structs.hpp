// The default settings of a search.
#pragma once

#include "wireproof/lab.h"

namespace wireproof::c {

wireproof_search_settings default_search();

}  // namespace wireproof::c
