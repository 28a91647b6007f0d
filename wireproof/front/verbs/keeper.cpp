#include "wireproof/front/verbs/keeper.hpp"

#include <csignal>
#include <utility>

namespace wireproof::verbs {
namespace {

// While another thread makes progress the keeper does not sleep for long: that thread may only be
// posting work, and leave packets where they are.
constexpr Duration pause = Duration::microseconds(50);

/// While it lives, threads that are started handle no signal: the program's own threads do.
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

void Keeper::start(int handle, Turn turn) {
    if (thread_.joinable()) return;
    const SignalsBlocked blocked;
    thread_ = std::thread([this, handle, turn = std::move(turn)] { run(handle, turn); });
}

void Keeper::run(int handle, const Turn& turn) {
    while (!ended_) {
        if (turn()) {
            sleep_until(clock_, until_, {handle, bell_.handle()});
        } else {
            sleep_until(clock_, clock_.now() + pause, {-1, bell_.handle()});
        }
        bell_.silence();
    }
}

}  // namespace wireproof::verbs
