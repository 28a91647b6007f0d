// The same for C++.
#pragma once

#include "wireproof/version.h"
