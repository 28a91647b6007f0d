// The ways to find a job that need no library: environment variables, and a rendezvous.
#include <algorithm>
#include <array>
#include <set>

#include "wireproof/host/job/job_number.hpp"
#include "wireproof/host/job/rendezvous_board.hpp"
#include "wireproof/host/job/ways.hpp"
#include "wireproof/host/rendezvous/environment.hpp"
#include "wireproof/host/rendezvous/service_address.hpp"

namespace wireproof::host {
namespace {

using Service = RendezvousBoard::Service;

/// The variables in which a launcher tells a process its place.
struct Scheduler {
    const char* name;
    const char* rank;
    const char* size;
    std::array<const char*, 3> job;  // together they name the job
};

// mpirun in a Slurm job leaves Slurm's variables as they are, so its own come first. A batch script
// has SLURM_PROCID and SLURM_NTASKS although it is no task; only tasks have SLURM_STEP_NUM_TASKS.
constexpr std::array schedulers{
    Scheduler{"Open MPI",
              "OMPI_COMM_WORLD_RANK",
              "OMPI_COMM_WORLD_SIZE",
              {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri"}},
    Scheduler{"Slurm",
              "SLURM_PROCID",
              "SLURM_STEP_NUM_TASKS",
              {"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

Expected<void> check_address(const std::string& address) {
    const std::string port = address.substr(address.rfind(':') + 1);
    const auto number = number_of(port, 65'535);
    if (service_address(address) == nullptr || !number || *number == 0) {
        return unexpected("is no numeric address with a port, as 10.0.0.7:7000");
    }
    return {};
}

/// The secret of a service that rank 0 runs. Without WIREPROOF_TOKEN it is none: it only keeps jobs
/// apart.
Expected<std::string> token_for(std::uint64_t job) {
    if (!is_set("WIREPROOF_TOKEN")) return job_text(job);
    std::string token = text_in("WIREPROOF_TOKEN");
    constexpr std::size_t token_max = 128;
    const bool is_word =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (token.empty() || token.size() > token_max || !is_word) {
        return unexpected("WIREPROOF_TOKEN is no word of 1 to 128 characters");
    }
    return token;
}

Expected<WayResult> join_scheduler(const Scheduler& scheduler, std::chrono::milliseconds patience) {
    const auto size = number_in(scheduler.size, 1, rendezvous_ranks_max);
    if (!size) return tl::unexpected(size.error());
    const auto rank = number_in(scheduler.rank, 0, *size - 1);
    if (!rank) return tl::unexpected(rank.error());
    RendezvousPlace at{text_in("WIREPROOF_RENDEZVOUS"),
                       {},
                       static_cast<std::uint32_t>(*rank),
                       static_cast<std::uint32_t>(*size)};
    const auto checked = check_address(at.service);
    if (!checked) return unexpected("WIREPROOF_RENDEZVOUS " + checked.error().message);
    std::string name;
    for (const char* variable : scheduler.job) name += text_in(variable) + "\n";
    auto token = token_for(hash_of(name));
    if (!token) return tl::unexpected(token.error());
    at.token = std::move(*token);
    auto board = std::make_unique<RendezvousBoard>(JobPlace{*rank, *size, 0, scheduler.name},
                                                   Service::of_rank_0, std::move(at));
    const auto agreed = board->agree_on_job(patience);
    if (!agreed) return tl::unexpected(agreed.error());
    return WayResult::found(std::move(board));
}

}  // namespace

Expected<WayResult> try_launch(std::chrono::milliseconds) {
    for (const char* variable : {"WIREPROOF_RENDEZVOUS", "WIREPROOF_RANK"}) {
        if (!is_set(variable)) return WayResult::lacking(not_set(variable));
    }
    auto at = RendezvousPlace::of_environment();
    if (!at) return tl::unexpected(at.error());
    const auto job = parse_job(text_in("WIREPROOF_JOB"));
    if (!job) return unexpected("WIREPROOF_JOB is no number of 16 hexadecimal digits");
    JobPlace place{at->rank, at->size, *job, "wireproof launch"};
    return WayResult::found(std::make_unique<RendezvousBoard>(
        std::move(place), Service::of_the_launcher, std::move(*at)));
}

Expected<WayResult> try_scheduler(std::chrono::milliseconds patience) {
    const auto found = std::find_if(schedulers.begin(), schedulers.end(),
                                    [](const Scheduler& one) { return is_set(one.size); });
    if (found == schedulers.end()) {
        return WayResult::lacking("neither OMPI_COMM_WORLD_SIZE nor SLURM_STEP_NUM_TASKS is set");
    }
    if (!is_set("WIREPROOF_RENDEZVOUS")) {
        return WayResult::lacking(std::string(found->size) +
                                  " is set, but WIREPROOF_RENDEZVOUS is not");
    }
    return join_scheduler(*found, patience);
}

Expected<WayResult> try_peers(std::chrono::milliseconds) {
    if (!is_set("WIREPROOF_PEERS")) return WayResult::lacking(not_set("WIREPROOF_PEERS"));
    const std::string text = text_in("WIREPROOF_PEERS");
    std::vector<std::string> peers;
    std::set<std::string> known;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        peers.push_back(text.substr(at, end - at));
        const std::string who =
            "WIREPROOF_PEERS: the address of rank " + std::to_string(peers.size() - 1) + " ";
        const auto checked = check_address(peers.back());
        if (!checked) return unexpected(who + checked.error().message);
        if (!known.insert(peers.back()).second) return unexpected(who + "is there twice");
        if (peers.size() > rendezvous_ranks_max) return unexpected(who + "is one too many");
        at = end + 1;
    }
    const auto rank = number_in("WIREPROOF_RANK", 0, peers.size() - 1);
    if (!rank) return tl::unexpected(rank.error());
    const std::uint64_t job = hash_of(text);
    auto token = token_for(job);
    if (!token) return tl::unexpected(token.error());
    RendezvousPlace at{peers.front(), std::move(*token), static_cast<std::uint32_t>(*rank),
                       static_cast<std::uint32_t>(peers.size())};
    return WayResult::found(
        std::make_unique<RendezvousBoard>(JobPlace{*rank, peers.size(), job, "WIREPROOF_PEERS"},
                                          Service::of_rank_0, std::move(at), std::move(peers)));
}

}  // namespace wireproof::host
