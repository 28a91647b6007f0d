#include "wireproof/front/verbs/device/keeper.hpp"

#include <csignal>
#include <utility>

#include "wireproof/host/wait.hpp"

namespace wireproof::verbs {
namespace {

// While another thread makes progress, the keeper sleeps only this long: that thread may be posting
// work and may not receive packets.
constexpr Duration pause = Duration::microseconds(50);

/// Blocks signals while it exists. Threads that are started then handle no signals, so the
/// program's own threads do.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

}  // namespace

Keeper::~Keeper() {
    if (!thread_.joinable()) return;
    ended_ = true;
    bell_.ring();
    thread_.join();
}

void Keeper::start(std::array<int, 2> handles, Turn turn) {
    if (thread_.joinable()) return;
    const SignalsBlocked blocked;
    thread_ = std::thread([this, handles, turn = std::move(turn)] { run(handles, turn); });
}

void Keeper::run(std::array<int, 2> handles, const Turn& turn) {
    while (!ended_) {
        if (turn()) {
            const std::array wanted{bell_.handle(), handles[0], handles[1]};
            host::wait_until(std::span(wanted).first(listens_ ? wanted.size() : 1), clock_, until_);
        } else {
            host::wait_until(bell_.handle(), clock_, clock_.now() + pause);
        }
        bell_.silence();
    }
}

}  // namespace wireproof::verbs
