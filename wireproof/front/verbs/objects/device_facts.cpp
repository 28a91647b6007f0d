#include "wireproof/front/verbs/objects/device_facts.hpp"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>

#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/identity.hpp"
#include "wireproof/front/verbs/device/settings.hpp"
#include "wireproof/front/verbs/hooks/device_facts.h"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::verbs {
namespace {

/// Has a lock of its own, and nothing is called under it: a hook may ask during any call.
struct Told {
    std::mutex lock;
    std::weak_ptr<Device> device;
    host::ForkWatch fork{[this] { new (&lock) std::mutex; }};

    static Told& of_process() {
        static Told& told = *new Told;
        return told;
    }
};

thread_local bool opens = false;

std::shared_ptr<Device> known_device() {
    Told& told = Told::of_process();
    const std::lock_guard guard(told.lock);
    return told.device.lock();
}

wireproof_facts facts_without_address(Link link) {
    wireproof_facts facts{};
    facts.is_infiniband = link == Link::infiniband ? 1 : 0;
    const std::uint64_t guid = device_guid();
    std::memcpy(facts.guid, &guid, sizeof guid);
    return facts;
}

wireproof_facts facts_of(const Address& address, Link link) {
    wireproof_facts facts = facts_without_address(link);
    const SocketAddress socket = to_socket_address(address);
    std::memcpy(&facts.address, &socket, sizeof socket);
    const std::array gids = {link_local_gid_of(address), gid_of(address)};
    static_assert(gids.size() == WIREPROOF_GIDS);
    for (std::size_t i = 0; i < gids.size(); ++i) {
        std::copy(gids[i].begin(), gids[i].end(), facts.gids[i]);
    }
    if (link == Link::infiniband) facts.lid = lid_of(address);
    if (const unsigned index = interface_of(address); index != 0) {
        ::if_indextoname(index, facts.interface);
    }
    return facts;
}

/// Before the program opens the device, the settings say what it will be. If they name no address,
/// it is not known which one will be free. Empty: the settings are wrong, or this thread opens the
/// device.
std::optional<wireproof_facts> find_facts() {
    const auto device = known_device();
    if (device != nullptr && device->is_ours()) {
        return facts_of(device->address(),
                        device->subnet() != nullptr ? Link::infiniband : Link::ethernet);
    }
    if (opens) return std::nullopt;
    const auto settings = settings_of_environment();
    if (!settings) return std::nullopt;
    return settings->address ? facts_of(*settings->address, settings->link)
                             : facts_without_address(settings->link);
}

}  // namespace

OpensDevice::OpensDevice() {
    opens = true;
}

OpensDevice::~OpensDevice() {
    opens = false;
}

void tell_hooks_of(const std::shared_ptr<Device>& device) {
    Told& told = Told::of_process();
    const std::lock_guard guard(told.lock);
    told.device = device;
}

}  // namespace wireproof::verbs

int wireproof_device_facts(struct wireproof_facts* facts) {
    const int error = wireproof::verbs::called([&] {
        const auto found = wireproof::verbs::find_facts();
        if (!found) return ENODEV;
        *facts = *found;
        return 0;
    });
    return error == 0 ? 0 : -1;
}
