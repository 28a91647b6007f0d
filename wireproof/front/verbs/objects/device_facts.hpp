// The facts about the device that programs learn through the hooks instead of verbs.
#pragma once

#include <memory>

#include "wireproof/front/verbs/device/device.hpp"

namespace wireproof::verbs {

/// From now on, wireproof_device_facts reports this device, until the device ends.
void tell_hooks_of(const std::shared_ptr<Device>& device);

/// While it exists, this thread opens the device and looks at the interfaces of the system. The
/// hooks learn nothing in that thread, so they add no interface.
class OpensDevice {
public:
    OpensDevice();
    OpensDevice(const OpensDevice&) = delete;
    OpensDevice& operator=(const OpensDevice&) = delete;
    ~OpensDevice();
};

}  // namespace wireproof::verbs
