// PMIx, the process interface of Open MPI's mpirun and of srun --mpi=pmix. Its types come from its
// header, and its functions from the library at run time. So a program needs no PMIx to be started
// in another way. Macros of the header are avoided: some call functions of the library.
#include "wireproof/host/job/ways.hpp"
#include "wireproof/host/rendezvous/environment.hpp"

#ifdef WIREPROOF_PMIX

#include <dlfcn.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "wireproof/host/job/shared_library.hpp"
#include "wireproof/host/rendezvous/deadline.hpp"

namespace wireproof::host {
namespace {

constexpr auto library_name = "libpmix.so.2";
// In front of each entry, because PMIx may take an empty value for none.
constexpr char mark = 'w';
constexpr std::size_t ranks_max = 1'000'000;

struct Pmix {
    decltype(&::PMIx_Init) init = nullptr;
    decltype(&::PMIx_Finalize) finalize = nullptr;
    decltype(&::PMIx_Put) put = nullptr;
    decltype(&::PMIx_Commit) commit = nullptr;
    decltype(&::PMIx_Fence_nb) fence = nullptr;
    decltype(&::PMIx_Get_nb) get = nullptr;
    decltype(&::PMIx_Error_string) text = nullptr;

    static Expected<Pmix> open() {
        const auto library = SharedLibrary::open(library_name);
        if (!library) return tl::unexpected(library.error());
        Pmix all;
        for (const auto& found :
             {library->find("PMIx_Init", all.init), library->find("PMIx_Finalize", all.finalize),
              library->find("PMIx_Put", all.put), library->find("PMIx_Commit", all.commit),
              library->find("PMIx_Fence_nb", all.fence), library->find("PMIx_Get_nb", all.get),
              library->find("PMIx_Error_string", all.text)}) {
            if (!found) return tl::unexpected(found.error());
        }
        return all;
    }

    tl::unexpected<Error> failed(const std::string& call, pmix_status_t status) const {
        const char* const why = text(status);
        return unexpected(call + ": " + (why == nullptr ? std::to_string(status) : why));
    }
};

/// An operation that a thread of PMIx ends. The caller and that thread share it, because the caller
/// may lose patience first. It also keeps what PMIx may read until the end.
struct Operation {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<pmix_status_t> status;
    std::optional<std::uint32_t> number;  // the value, if it is one
    std::optional<std::string> bytes;     // the value, if it is these
    pmix_proc_t process{};
    pmix_info_t option{};

    using Shared = std::shared_ptr<Operation>;

    /// For the last argument of a callback.
    static void* token_of(const Shared& operation) { return new Shared(operation); }
    static Shared owner_of(void* token) {
        const std::unique_ptr<Shared> owner(static_cast<Shared*>(token));
        return *owner;
    }

    void end(pmix_status_t with) {
        const std::lock_guard lock(mutex);
        status = with;
        changed.notify_all();
    }
    /// No value: the time is up.
    std::optional<pmix_status_t> wait(const Deadline& deadline) {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, deadline.left(), [this] { return status.has_value(); });
        return status;
    }
};

void on_fence(pmix_status_t status, void* token) {
    Operation::owner_of(token)->end(status);
}

// The value is PMIx's, and is gone after this call.
void on_value(pmix_status_t status, pmix_value_t* value, void* token) {
    const auto operation = Operation::owner_of(token);
    if (status == PMIX_SUCCESS && value != nullptr) {
        const std::lock_guard lock(operation->mutex);
        if (value->type == PMIX_UINT32) operation->number = value->data.uint32;
        if (value->type == PMIX_BYTE_OBJECT && value->data.bo.bytes != nullptr) {
            operation->bytes.emplace(value->data.bo.bytes, value->data.bo.size);
        }
    }
    operation->end(status);
}

/// The start of an operation. If PMIx does not call back, the token must not leak.
template <class Start>
pmix_status_t begin(const Operation::Shared& operation, Start&& start) {
    void* const token = Operation::token_of(operation);
    const pmix_status_t status = start(token);
    if (status == PMIX_SUCCESS) return status;
    Operation::owner_of(token);
    if (status == PMIX_OPERATION_SUCCEEDED) operation->end(PMIX_SUCCESS);
    return status;
}

bool has_mpi() {
    return ::dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr;
}

/// Keeps PMIx open until the process ends, for MPI_Init: it may come later, it calls PMIx_Init, and
/// that does not work well after the last PMIx_Finalize. Without MPI, PMIx must not stay open: if a
/// process dies while it is, Slurm ends the others, too.
void keep_open(const Pmix& pmix) {
    static std::once_flag once;
    static Pmix kept;
    static pid_t owner = 0;
    std::call_once(once, [&] {
        pmix_proc_t self{};
        if (pmix.init(&self, nullptr, 0) != PMIX_SUCCESS) return;
        kept = pmix;
        owner = ::getpid();
        std::atexit([] {
            if (owner == ::getpid()) kept.finalize(nullptr, 0);  // not in a forked child
        });
    });
}

/// PMIx_Finalize belongs to each PMIx_Init.
class Session {
public:
    Session(const Pmix& pmix, const pmix_proc_t& self) : pmix_(pmix), self_(self) {}
    ~Session() { pmix_.finalize(nullptr, 0); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const pmix_proc_t& self() const { return self_; }

    Expected<void> put(const std::string& key, std::string text) const {
        pmix_value_t value{};
        value.type = PMIX_BYTE_OBJECT;
        value.data.bo = {text.data(), text.size()};
        pmix_status_t status = pmix_.put(PMIX_GLOBAL, key.c_str(), &value);
        if (status != PMIX_SUCCESS) return pmix_.failed("PMIx_Put", status);
        status = pmix_.commit();
        if (status != PMIX_SUCCESS) return pmix_.failed("PMIx_Commit", status);
        return {};
    }

    Expected<void> fence(const Deadline& deadline) const {
        const auto operation = new_operation(PMIX_RANK_WILDCARD);
        pmix_info_t& option = operation->option;
        std::strncpy(option.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
        option.value.type = PMIX_BOOL;
        option.value.data.flag = true;
        const pmix_status_t begun = begin(operation, [&](void* token) {
            return pmix_.fence(&operation->process, 1, &option, 1, on_fence, token);
        });
        return ended("PMIx_Fence", "not all ranks arrived", *operation, begun, deadline);
    }

    /// The value of a rank: one of the two of Operation.
    Expected<Operation::Shared> get(const char* key, pmix_rank_t rank,
                                    const Deadline& deadline) const {
        const auto operation = new_operation(rank);
        const pmix_status_t begun = begin(operation, [&](void* token) {
            return pmix_.get(&operation->process, key, nullptr, 0, on_value, token);
        });
        const auto got =
            ended("PMIx_Get of " + std::string(key), "no answer", *operation, begun, deadline);
        if (!got) return tl::unexpected(got.error());
        return operation;
    }

private:
    Operation::Shared new_operation(pmix_rank_t rank) const {
        auto operation = std::make_shared<Operation>();
        operation->process = self_;
        operation->process.rank = rank;
        return operation;
    }

    Expected<void> ended(const std::string& call, const char* too_late, Operation& operation,
                         pmix_status_t begun, const Deadline& deadline) const {
        if (begun != PMIX_SUCCESS && begun != PMIX_OPERATION_SUCCEEDED) {
            return pmix_.failed(call, begun);
        }
        const auto status = operation.wait(deadline);
        if (!status || *status == PMIX_ERR_TIMEOUT) return unexpected(call + ": " + too_late);
        if (*status != PMIX_SUCCESS) return pmix_.failed(call, *status);
        return {};
    }

    Pmix pmix_;
    pmix_proc_t self_;
};

class PmixBoard final : public JobBoard {
public:
    PmixBoard(JobPlace place, std::unique_ptr<Session> session)
        : JobBoard(std::move(place)), session_(std::move(session)) {}

    using JobBoard::agree_on_job;
    Expected<std::vector<std::string>> exchange(std::string_view entry,
                                                std::chrono::milliseconds patience) override {
        if (entry.size() > entry_max) return unexpected("the entry has more than 65536 bytes");
        const Deadline deadline(patience);
        const std::string key = "wireproof-" + std::to_string(exchange_++);
        const auto put = session_->put(key, mark + std::string(entry));
        if (!put) return tl::unexpected(put.error());
        const auto met = session_->fence(deadline);
        if (!met) return tl::unexpected(met.error());
        std::vector<std::string> entries;
        for (std::size_t rank = 0; rank < place_.size; ++rank) {
            auto one = entry_of(rank, key, deadline);
            if (!one)
                return unexpected("rank " + std::to_string(rank) + ": " + one.error().message);
            entries.push_back(std::move(*one));
        }
        return entries;
    }

private:
    Expected<std::string> entry_of(std::size_t rank, const std::string& key,
                                   const Deadline& deadline) const {
        const auto got = session_->get(key.c_str(), static_cast<pmix_rank_t>(rank), deadline);
        if (!got) return tl::unexpected(got.error());
        const auto& bytes = (*got)->bytes;
        if (!bytes || bytes->empty() || bytes->front() != mark || bytes->size() > entry_max + 1) {
            return unexpected("no entry of Wireproof");
        }
        return bytes->substr(1);
    }

    std::unique_ptr<Session> session_;
    std::size_t exchange_ = 0;
};

Expected<WayResult> join(const Pmix& pmix, const Deadline& deadline) {
    pmix_proc_t self{};
    const pmix_status_t status = pmix.init(&self, nullptr, 0);
    if (status != PMIX_SUCCESS) return pmix.failed("PMIx_Init", status);
    auto session = std::make_unique<Session>(pmix, self);
    if (has_mpi()) keep_open(pmix);
    const auto size = session->get(PMIX_JOB_SIZE, PMIX_RANK_WILDCARD, deadline);
    if (!size) return tl::unexpected(size.error());
    const std::uint32_t ranks = (*size)->number.value_or(0);
    if (self.rank >= ranks || ranks > ranks_max) {
        return unexpected("this is rank " + std::to_string(self.rank) + " of " +
                          std::to_string(ranks));
    }
    auto board =
        std::make_unique<PmixBoard>(JobPlace{self.rank, ranks, 0, "PMIx"}, std::move(session));
    const auto agreed = board->agree_on_job(deadline.left());
    if (!agreed) return tl::unexpected(agreed.error());
    return WayResult::found(std::move(board));
}

}  // namespace

Expected<WayResult> try_pmix(std::chrono::milliseconds patience) {
    const Deadline deadline(patience);
    for (const char* variable : {"PMIX_NAMESPACE", "PMIX_RANK"}) {
        if (!is_set(variable)) return WayResult::lacking(not_set(variable));
    }
    const auto pmix = Pmix::open();
    if (!pmix) return WayResult::lacking(pmix.error().message);
    return join(*pmix, deadline);
}

}  // namespace wireproof::host

#else

namespace wireproof::host {

Expected<WayResult> try_pmix(std::chrono::milliseconds) {
    return WayResult::lacking("Wireproof was built without the header pmix.h");
}

}  // namespace wireproof::host

#endif
