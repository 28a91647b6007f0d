// The device /dev/infiniband/rdma_cm: its descriptors and the commands that are written to them.
// The hooks call it.
#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/cm/commands.hpp"
#include "wireproof/front/verbs/hooks/cm_device.h"
#include "wireproof/front/verbs/objects/context.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/memory_guard.hpp"

namespace wireproof::verbs {
namespace {

struct Open {
    std::shared_ptr<RdmaCm> rdma_cm;
    std::shared_ptr<CmChannel> channel;
};

/// Never destroyed, because threads of the program may run while the process exits.
struct Files {
    std::mutex lock;
    std::map<int, Open> open;
    std::weak_ptr<RdmaCm> rdma_cm;
    // A thread that does not exist in the child may have held the lock.
    host::ForkWatch fork{[this] { new (&lock) std::mutex; }};

    static Files& of_process();

    Open find(int handle) {
        const std::lock_guard guard(lock);
        const auto found = open.find(handle);
        return found == open.end() ? Open() : found->second;
    }
};

// The kernel disconnects all connections of a process that exits. Here the process does it itself.
void leave() {
    const auto rdma_cm = Files::of_process().rdma_cm.lock();
    if (rdma_cm == nullptr || !rdma_cm->device().is_ours()) return;
    errno_of([&] {
        rdma_cm->close_all();
        return 0;
    });
}

Files& Files::of_process() {
    static Files& files = []() -> Files& {
        auto& made = *new Files;
        std::atexit(leave);
        return made;
    }();
    return files;
}

Expected<std::shared_ptr<RdmaCm>> shared(Files& files) {
    if (auto known = files.rdma_cm.lock(); known && known->device().is_ours()) return known;
    auto device = shared_device();
    if (!device) return tl::unexpected(device.error());
    auto made = std::make_shared<RdmaCm>(*device);
    (*device)->start_keeper();
    made->let_thread_look();
    files.rdma_cm = made;
    return made;
}

/// Drops an old entry for this number: the program closed the descriptor where no hook saw it, or
/// the entry is the parent's.
void drop(Files& files, int handle) {
    const auto found = files.open.find(handle);
    if (found == files.open.end()) return;
    const Open old = std::move(found->second);
    files.open.erase(found);
    old.channel->abandon();
    if (old.rdma_cm->device().is_ours()) {
        old.rdma_cm->close(old.channel);
    } else {
        new Open(old);  // a leak on purpose: the thread and the lock of its device are the parent's
    }
}

int open_channel(int flags, int& handle) {
    Files& files = Files::of_process();
    const std::lock_guard guard(files.lock);
    auto rdma_cm = shared(files);
    if (!rdma_cm) {
        std::fprintf(stderr, "wireproof verbs: %s\n", rdma_cm.error().message.c_str());
        return ENODEV;
    }
    auto channel = std::make_shared<CmChannel>();
    if ((flags & O_NONBLOCK) != 0) ::fcntl(channel->handle(), F_SETFL, O_NONBLOCK);
    handle = channel->handle();
    drop(files, handle);
    files.open[handle] = {std::move(*rdma_cm), std::move(channel)};
    return 0;
}

/// The descriptor of whose event this thread waits. The thread may be cancelled while it waits:
/// then this is released with the thread's other variables.
thread_local Open awaited;

constexpr int must_wait = -1;  // for an event of `awaited`; no errno

/// Returns 0, an errno or must_wait. `waited`: this thread has waited for an event of `awaited`,
/// which may have been closed meanwhile.
int run(int handle, const void* bytes, std::size_t size, bool waited) {
    // The longest command resolves two addresses of any kind.
    std::array<std::byte, sizeof(rdma_ucm_cmd_hdr) + 1024> copy{};
    Files& files = Files::of_process();
    const Open open = waited ? std::move(awaited) : files.find(handle);
    awaited = Open();
    if (open.channel == nullptr) return EBADF;
    if (!open.rdma_cm->device().is_ours()) return EIO;
    host::keep_memory_guard(open.rdma_cm->device().now());
    const std::size_t length = std::min(size, copy.size());
    if (!copy_program(copy.data(), static_cast<const std::byte*>(bytes), length)) {
        return EFAULT;
    }
    const ConstBytes command = ConstBytes(copy).first(length);
    const bool awaits = awaits_event(command);
    if (!awaits || waited) {
        const CmCaller caller{*open.rdma_cm, open.channel,
                              [&](int other) { return files.find(other).channel; }};
        const int error = run_command(caller, command);
        if (!awaits || error != ENOENT) return error;
    }
    awaited = open;
    return must_wait;
}

void wait_no_more() {
    awaited = Open();
}

int close_channel(int handle) {
    Files& files = Files::of_process();
    Open open;
    {
        const std::lock_guard guard(files.lock);
        const auto found = files.open.find(handle);
        if (found == files.open.end()) return EBADF;
        open = std::move(found->second);
        files.open.erase(found);
    }
    if (!open.rdma_cm->device().is_ours()) {
        open.channel->close();
        new Open(std::move(open));
        return 0;
    }
    open.rdma_cm->close(open.channel);
    return 0;
}

}  // namespace
}  // namespace wireproof::verbs

using namespace wireproof;

int wireproof_rdma_cm_open(int flags) {
    int handle = -1;
    const int error = verbs::called([&] { return verbs::open_channel(flags, handle); });
    return error == 0 ? handle : -1;
}

// This function has no variable with a destructor, so that a thread that is cancelled while it
// waits runs no code of ours on its way out. The thread's end may come from another C++ library
// than ours.
ssize_t wireproof_rdma_cm_write(int handle, const void* command, size_t bytes) {
    int error = verbs::called([&] { return verbs::run(handle, command, bytes, false); });
    while (error == verbs::must_wait) {
        if (verbs::awaited.channel->await() != 0) {
            verbs::called([] { return verbs::wait_no_more(), 0; });
            return -1;
        }
        error = verbs::called([&] { return verbs::run(handle, command, bytes, true); });
    }
    return error == 0 ? static_cast<ssize_t>(bytes) : -1;
}

int wireproof_rdma_cm_close(int handle) {
    return verbs::called([&] { return verbs::close_channel(handle); }) == 0 ? 0 : -1;
}
