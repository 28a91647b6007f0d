// What programs learn of the device by other ways than verbs, through the hooks.
#pragma once

#include <memory>

#include "wireproof/front/verbs/engine.hpp"

namespace wireproof::verbs {

/// From now on, until it ends, it is this one whose address wireproof_device_facts tells.
void tell_hooks_of(const std::shared_ptr<Engine>& engine);

}  // namespace wireproof::verbs
