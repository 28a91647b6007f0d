// The list of devices, which has one entry. The device takes an address only when a program opens
// it.
#include <array>
#include <cstring>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/device/identity.hpp"

namespace wireproof::verbs {
namespace {

/// Providers of mlx5 and efa look for a table of their own after the public structure. The zeroed
/// bytes tell them that there is none.
struct ListedDevice {
    ibv_device shown{};
    std::array<std::byte, 512> behind{};
};

template <std::size_t size>
void set(char (&to)[size], const char* text) {
    std::strncpy(to, text, size - 1);
}

ListedDevice make_device() {
    ListedDevice device;
    device.shown.node_type = IBV_NODE_CA;
    device.shown.transport_type = IBV_TRANSPORT_IB;
    set(device.shown.name, device_name);
    set(device.shown.dev_name, "uverbs0");
    set(device.shown.dev_path, "/sys/class/infiniband_verbs/uverbs0");
    set(device.shown.ibdev_path, "/sys/class/infiniband/wireproof0");
    return device;
}

ListedDevice& the_device() {
    static ListedDevice& device = *new ListedDevice(make_device());
    return device;
}

}  // namespace

}  // namespace wireproof::verbs

using namespace wireproof;

ibv_device** ibv_get_device_list(int* count) {
    return verbs::made<ibv_device*>([&](ibv_device**& list) {
        list = new ibv_device* [2] { &verbs::the_device().shown, nullptr };
        if (count != nullptr) *count = 1;
        return 0;
    });
}

void ibv_free_device_list(ibv_device** list) {
    delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) {
    return device->name;
}

int ibv_get_device_index(ibv_device*) {
    return -1;  // the kernel does not know this device
}

__be64 ibv_get_device_guid(ibv_device*) {
    return verbs::device_guid();
}
