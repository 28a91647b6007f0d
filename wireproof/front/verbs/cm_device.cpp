// The device /dev/infiniband/rdma_cm: its descriptors and the commands that are written to them.
// The hooks call it.
#include "wireproof/front/verbs/hooks/cm_device.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "wireproof/front/verbs/api.hpp"
#include "wireproof/front/verbs/cm_commands.hpp"
#include "wireproof/front/verbs/context.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/memory_guard.hpp"

namespace wireproof::verbs {
namespace {

struct Open {
    std::shared_ptr<RdmaCm> rdma_cm;
    std::shared_ptr<CmChannel> channel;
};

/// Never destroyed, because threads of the program may run while the process exits.
struct Device {
    std::mutex lock;
    std::map<int, Open> open;
    std::weak_ptr<RdmaCm> rdma_cm;
    // A thread that does not exist in the child may have held the lock.
    host::ForkWatch fork{[this] { new (&lock) std::mutex; }};

    static Device& of_process();

    Open find(int handle) {
        const std::lock_guard guard(lock);
        const auto found = open.find(handle);
        return found == open.end() ? Open() : found->second;
    }
};

// The kernel disconnects all connections of a process that exits. Here the process does it itself.
void leave() {
    const auto rdma_cm = Device::of_process().rdma_cm.lock();
    if (rdma_cm == nullptr || !rdma_cm->engine().is_ours()) return;
    errno_of([&] {
        rdma_cm->close_all();
        return 0;
    });
}

Device& Device::of_process() {
    static Device& device = []() -> Device& {
        auto& made = *new Device;
        std::atexit(leave);
        return made;
    }();
    return device;
}

Expected<std::shared_ptr<RdmaCm>> shared(Device& device) {
    if (auto known = device.rdma_cm.lock(); known && known->engine().is_ours()) return known;
    auto engine = shared_engine();
    if (!engine) return tl::unexpected(engine.error());
    auto made = std::make_shared<RdmaCm>(*engine);
    (*engine)->start_keeper();
    device.rdma_cm = made;
    return made;
}

/// Drops an old entry for this number: the program closed the descriptor where no hook saw it, or
/// the entry is the parent's.
void drop(Device& device, int handle) {
    const auto found = device.open.find(handle);
    if (found == device.open.end()) return;
    const Open old = std::move(found->second);
    device.open.erase(found);
    old.channel->abandon();
    if (old.rdma_cm->engine().is_ours()) {
        old.rdma_cm->close(old.channel);
    } else {
        new Open(old);  // a leak on purpose: the thread and the lock of its engine are the parent's
    }
}

int open_channel(int flags, int& handle) {
    Device& device = Device::of_process();
    const std::lock_guard guard(device.lock);
    auto rdma_cm = shared(device);
    if (!rdma_cm) {
        std::fprintf(stderr, "wireproof verbs: %s\n", rdma_cm.error().message.c_str());
        return ENODEV;
    }
    auto channel = std::make_shared<CmChannel>();
    if ((flags & O_NONBLOCK) != 0) ::fcntl(channel->handle(), F_SETFL, O_NONBLOCK);
    handle = channel->handle();
    drop(device, handle);
    device.open[handle] = {std::move(*rdma_cm), std::move(channel)};
    return 0;
}

int run(int handle, const void* bytes, std::size_t size) {
    // The longest command resolves two addresses of any kind.
    std::array<std::byte, sizeof(rdma_ucm_cmd_hdr) + 1024> copy{};
    Device& device = Device::of_process();
    const Open open = device.find(handle);
    if (open.channel == nullptr) return EBADF;
    if (!open.rdma_cm->engine().is_ours()) return EIO;
    host::keep_memory_guard(open.rdma_cm->engine().now());
    const std::size_t length = std::min(size, copy.size());
    if (!copy_program(copy.data(), static_cast<const std::byte*>(bytes), length)) {
        return EFAULT;
    }
    const CmCaller caller{*open.rdma_cm, open.channel,
                          [&](int other) { return device.find(other).channel; }};
    return run_command(caller, ConstBytes(copy).first(length));
}

int close_channel(int handle) {
    Device& device = Device::of_process();
    Open open;
    {
        const std::lock_guard guard(device.lock);
        const auto found = device.open.find(handle);
        if (found == device.open.end()) return EBADF;
        open = std::move(found->second);
        device.open.erase(found);
    }
    if (!open.rdma_cm->engine().is_ours()) {
        open.channel->close();
        new Open(std::move(open));
        return 0;
    }
    open.rdma_cm->close(open.channel);
    return 0;
}

/// Returns the answer. If there is an error, sets errno and returns -1.
template <class Answer>
Answer answered(int error, Answer answer) {
    if (error == 0) return answer;
    errno = error;
    return -1;
}

}  // namespace
}  // namespace wireproof::verbs

using namespace wireproof;

int wireproof_rdma_cm_open(int flags) {
    int handle = -1;
    const int error = verbs::errno_of([&] { return verbs::open_channel(flags, handle); });
    return verbs::answered(error, handle);
}

ssize_t wireproof_rdma_cm_write(int handle, const void* command, size_t bytes) {
    const int error = verbs::errno_of([&] { return verbs::run(handle, command, bytes); });
    return verbs::answered(error, static_cast<ssize_t>(bytes));
}

int wireproof_rdma_cm_close(int handle) {
    return verbs::answered(verbs::errno_of([&] { return verbs::close_channel(handle); }), 0);
}
