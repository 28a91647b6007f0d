// How a process of a job finds its place, and how it exchanges texts with the other processes. A
// launcher started them: mpirun, srun, `wireproof launch`, or a person who set WIREPROOF_PEERS. A
// program joins its job once, when it starts, so these calls block. No thread is started.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

/// The place of this process in its job.
struct JobPlace {
    std::size_t rank = 0;
    std::size_t size = 1;
    /// The same at all ranks. No two jobs that run at a time on one host have the same.
    std::uint64_t job = 0;
    /// "torchrun", "PMIx", "PMI2", "PMI-1", "wireproof launch", "WIREPROOF_RANK", "Slurm",
    /// "Open MPI" or "WIREPROOF_PEERS".
    std::string launcher;
};

/// Where each rank of a job puts entries that the others read. Some launchers want to know that a
/// rank needs them no more, so destroy the board when the last exchange is done. The library of
/// PMI2 cannot be opened a second time in a process, so keep the board until then.
class JobBoard {
public:
    static constexpr std::size_t entry_max = 65'536;  // bytes

    JobBoard(const JobBoard&) = delete;
    JobBoard& operator=(const JobBoard&) = delete;
    virtual ~JobBoard() = default;

    const JobPlace& place() const { return place_; }
    /// The addresses that WIREPROOF_PEERS names, by rank. Empty with all other launchers.
    const std::vector<std::string>& addresses() const { return addresses_; }

    /// Puts an entry (any bytes, at most entry_max), waits until all ranks have put theirs, at most
    /// for `patience`, and returns the entries of all ranks, by rank. It may be called several
    /// times, by all ranks equally often. After an error, do not use the board again.
    virtual Expected<std::vector<std::string>> exchange(std::string_view entry,
                                                        std::chrono::milliseconds patience) = 0;

protected:
    explicit JobBoard(JobPlace place, std::vector<std::string> addresses = {})
        : place_(std::move(place)), addresses_(std::move(addresses)) {}

    /// An exchange in which rank 0 draws the number of the job.
    Expected<void> agree_on_job(std::chrono::milliseconds patience);

    JobPlace place_;
    std::vector<std::string> addresses_;
};

/// Finds the job that this process belongs to. It tries these ways in this order. The first one
/// whose environment variables are set decides; if it then fails, that is the error.
///
/// 1. torchrun, only if WIREPROOF_LAUNCHER is "torchrun": RANK, WORLD_SIZE, MASTER_ADDR,
///    MASTER_PORT and WIREPROOF_TOKEN. Programs without a launcher have such variables, too.
/// 2. PMIx: PMIX_NAMESPACE and PMIX_RANK (mpirun, srun --mpi=pmix).
/// 3. PMI2: PMI_FD (srun --mpi=pmi2).
/// 4. PMI-1: PMI_FD, PMI_RANK and PMI_SIZE (mpiexec.hydra, flux run).
/// 5. `wireproof launch`: WIREPROOF_RENDEZVOUS, WIREPROOF_TOKEN, WIREPROOF_RANK, WIREPROOF_SIZE and
///    WIREPROOF_JOB.
/// 6. Any other launcher: the same without WIREPROOF_JOB. WIREPROOF_RENDEZVOUS is an address of
///    rank 0 with a free TCP port ("10.0.0.7:7000").
/// 7. Slurm or Open MPI without a library that fits: their ranks and sizes, and
///    WIREPROOF_RENDEZVOUS as above.
/// 8. WIREPROOF_PEERS ("10.0.0.7:7000,10.0.0.8:7000", by rank) and WIREPROOF_RANK.
///
/// A way whose library is not installed, or was not there when Wireproof was built, is passed over.
/// If no way is left, the error names each way and what it lacks, in one line. It may wait for the
/// other ranks, at most for `patience`.
Expected<std::unique_ptr<JobBoard>> find_job(std::chrono::milliseconds patience);

}  // namespace wireproof::host
