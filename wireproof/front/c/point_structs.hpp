// The defaults of the laboratory's structs. They are the same whether the laboratory is built or
// not.
#pragma once

#include "wireproof/wireproof.h"

namespace wireproof::c {

wireproof_point_settings default_settings();
wireproof_point_plan default_plan();

}  // namespace wireproof::c
