#include "wireproof/app/perf/perf_process.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/text.hpp"

namespace wireproof::app {

bool pin_to_processor(std::size_t which) {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return true;
    if (CPU_COUNT(&allowed) < 2) return false;
    std::size_t seen = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(static_cast<unsigned>(cpu), &allowed) || seen++ != which) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(cpu), &one);
        ::sched_setaffinity(0, sizeof one, &one);
        break;
    }
    return true;
}

PerfProcess::~PerfProcess() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);  // it has nothing to clean up
    ::waitpid(id_, nullptr, 0);
}

void PerfProcess::start(const std::function<void()>& life) {
    const pid_t parent = ::getpid();
    id_ = ::fork();
    if (id_ < 0) throw Failure(std::string("cannot fork: ") + std::strerror(errno));
    if (id_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it polls all the time, so it must not outlive its parent
    if (::getppid() != parent) ::_exit(exit_failed);
    pin_to_processor(1);
    try {
        life();
    } catch (const std::exception& failure) {
        tell(std::string("wireproof perf: the answering process: ") + failure.what());
        ::_exit(exit_failed);
    }
    ::_exit(0);
}

void PerfProcess::look(bool may_end) {
    check_interrupt();
    int status = 0;
    if (id_ <= 0 || ::waitpid(id_, &status, WNOHANG) != id_) return;
    id_ = 0;
    if (!may_end || status != 0) throw Failure("the answering process has ended");
}

void PerfProcess::look_at_end(bool may_end) {
    for (int millisecond = 0; millisecond < 1000 && id_ > 0; ++millisecond) {
        look(may_end);
        ::usleep(1000);
    }
}

}  // namespace wireproof::app
