// PMI2, the process interface of Slurm (srun --mpi=pmi2) and of MPICH. Slurm's library has no
// header in Debian, so the functions are declared here.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "wireproof/host/job/pmi_board.hpp"
#include "wireproof/host/job/shared_library.hpp"
#include "wireproof/host/job/ways.hpp"
#include "wireproof/host/rendezvous/deadline.hpp"
#include "wireproof/host/rendezvous/environment.hpp"

namespace wireproof::host {
namespace {

constexpr auto library_name = "libpmi2.so.0";
constexpr int done = 0;  // PMI2_SUCCESS
constexpr std::size_t value_max = 1024;

struct Pmi2 {
    int (*init)(int* spawned, int* size, int* rank, int* application) = nullptr;
    int (*finalize)() = nullptr;
    int (*job)(char* text, int size) = nullptr;
    int (*put)(const char* key, const char* value) = nullptr;
    int (*fence)() = nullptr;
    int (*get)(const char* job, int from, const char* key, char* value, int size,
               int* length) = nullptr;

    static Expected<Pmi2> open() {
        const auto library = SharedLibrary::open(library_name);
        if (!library) return tl::unexpected(library.error());
        Pmi2 all;
        for (const auto& found :
             {library->find("PMI2_Init", all.init), library->find("PMI2_Finalize", all.finalize),
              library->find("PMI2_Job_GetId", all.job), library->find("PMI2_KVS_Put", all.put),
              library->find("PMI2_KVS_Fence", all.fence), library->find("PMI2_KVS_Get", all.get)}) {
            if (!found) return tl::unexpected(found.error());
        }
        return all;
    }
};

tl::unexpected<Error> failed(const std::string& call, int code) {
    return unexpected(call + " failed with code " + std::to_string(code));
}

/// The calls of the library wait for ever. While this object lives, they give up with an error when
/// nothing has come from the launcher for some time. If PMI_FD is no socket, they wait.
class ReceiveLimit {
public:
    explicit ReceiveLimit(int socket, const Deadline& deadline) : socket_(socket) {
        // Zero would be no limit.
        const auto left = std::max(deadline.left(), std::chrono::milliseconds(1));
        set({.tv_sec = left.count() / 1000, .tv_usec = left.count() % 1000 * 1000});
    }
    ~ReceiveLimit() { set({}); }
    ReceiveLimit(const ReceiveLimit&) = delete;
    ReceiveLimit& operator=(const ReceiveLimit&) = delete;

private:
    void set(timeval limit) const {
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }

    int socket_;
};

class Pmi2Board final : public PmiBoard {
public:
    Pmi2Board(JobPlace place, const Pmi2& pmi2, int socket, std::string name)
        : PmiBoard(std::move(place)), pmi2_(pmi2), socket_(socket), name_(std::move(name)) {}
    ~Pmi2Board() override {
        const ReceiveLimit limit(socket_, Deadline(std::chrono::seconds(5)));
        pmi2_.finalize();
    }
    Pmi2Board(const Pmi2Board&) = delete;
    Pmi2Board& operator=(const Pmi2Board&) = delete;

private:
    Expected<void> put(const std::string& key, const std::string& value,
                       const Deadline& deadline) override {
        const ReceiveLimit limit(socket_, deadline);
        const int code = pmi2_.put(key.c_str(), value.c_str());
        if (code != done) return failed("PMI2_KVS_Put", code);
        return {};
    }
    Expected<void> fence(const Deadline& deadline) override {
        const ReceiveLimit limit(socket_, deadline);
        const int code = pmi2_.fence();
        if (code != done && deadline.past()) return unexpected("not all ranks arrived");
        if (code != done) return failed("PMI2_KVS_Fence", code);
        return {};
    }
    Expected<std::string> get(const std::string& key, const Deadline& deadline) override {
        const ReceiveLimit limit(socket_, deadline);
        std::array<char, value_max> value{};
        int length = 0;
        const int code =
            pmi2_.get(name_.c_str(), -1, key.c_str(), value.data(), int{value.size()}, &length);
        if (code != done) return failed("PMI2_KVS_Get of " + key, code);
        return std::string(value.begin(), std::find(value.begin(), value.end(), '\0'));
    }

    Pmi2 pmi2_;
    int socket_;
    std::string name_;  // of the job, for PMI2
};

Expected<WayResult> join(const Pmi2& pmi2, int socket, std::chrono::milliseconds patience) {
    const Deadline deadline(patience);
    int spawned = 0;
    int size = 0;
    int rank = 0;
    int application = 0;
    {
        const ReceiveLimit limit(socket, deadline);
        const int code = pmi2.init(&spawned, &size, &rank, &application);
        if (code != done) return failed("PMI2_Init", code);
    }
    std::array<char, value_max> name{};
    const int code = pmi2.job(name.data(), int{name.size()});
    if (code != done) return failed("PMI2_Job_GetId", code);
    if (size < 1 || rank < 0 || rank >= size) {
        return unexpected("this is rank " + std::to_string(rank) + " of " + std::to_string(size));
    }
    name.back() = '\0';
    JobPlace place{static_cast<std::size_t>(rank), static_cast<std::size_t>(size), 0, "PMI2"};
    auto board = std::make_unique<Pmi2Board>(std::move(place), pmi2, socket, name.data());
    const auto agreed = board->agree_on_job(deadline.left());
    if (!agreed) return tl::unexpected(agreed.error());
    return WayResult::found(std::move(board));
}

}  // namespace

Expected<WayResult> try_pmi2(std::chrono::milliseconds patience) {
    if (!is_set("PMI_FD")) return WayResult::lacking(not_set("PMI_FD"));
    // Launchers that speak PMI-1 set these two. Those of Slurm speak both, and PMI2 better.
    if (is_set("PMI_RANK") && is_set("PMI_SIZE") && !is_set("SLURM_STEP_NUM_TASKS")) {
        return WayResult::lacking("SLURM_STEP_NUM_TASKS is not set");
    }
    const auto socket = number_in("PMI_FD", 0, INT32_MAX);
    if (!socket) return tl::unexpected(socket.error());
    const auto pmi2 = Pmi2::open();
    if (!pmi2) return WayResult::lacking(pmi2.error().message);
    return join(*pmi2, static_cast<int>(*socket), patience);
}

}  // namespace wireproof::host
