// The ways to find a job that need no library: environment variables, and a rendezvous.
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <set>

#include "wireproof/host/job/job_number.hpp"
#include "wireproof/host/job/rendezvous_board.hpp"
#include "wireproof/host/job/ways.hpp"
#include "wireproof/host/rendezvous/environment.hpp"
#include "wireproof/os/socket_address.hpp"

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
    const auto read = Address::parse(address);
    if (!read) return tl::unexpected(read.error());
    if (read->port == 0) return unexpected("bad address \"" + address + "\": its port is 0");
    return {};
}

/// The secret of a service that rank 0 runs.
Expected<std::string> own_token() {
    if (!is_set("WIREPROOF_TOKEN")) {
        return unexpected(
            "WIREPROOF_TOKEN is not set: without a secret of the job, whoever reaches rank 0 could "
            "be a rank");
    }
    std::string token = text_in("WIREPROOF_TOKEN");
    constexpr std::size_t token_max = 128;
    const bool is_word =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (token.empty() || token.size() > token_max || !is_word) {
        return unexpected("WIREPROOF_TOKEN is no word of 1 to 128 characters");
    }
    return token;
}

/// The same where the job has a name. Without WIREPROOF_TOKEN it is none: it only keeps jobs apart.
Expected<std::string> token_for(std::uint64_t job) {
    return is_set("WIREPROOF_TOKEN") ? own_token() : job_text(job);
}

/// Joins the others at rank 0.
Expected<WayResult> meet_at(RendezvousPlace at, const char* launcher,
                            std::chrono::milliseconds patience) {
    JobPlace place{at.rank, at.size, 0, launcher};
    auto board =
        std::make_unique<RendezvousBoard>(std::move(place), Service::of_rank_0, std::move(at));
    const auto agreed = board->agree_on_job(patience);
    if (!agreed) return tl::unexpected(agreed.error());
    return WayResult::found(std::move(board));
}

/// The rank and the size that these two variables have.
Expected<RendezvousPlace> place_in(const char* rank_variable, const char* size_variable) {
    const auto size = number_in(size_variable, 1, rendezvous_ranks_max);
    if (!size) return tl::unexpected(size.error());
    const auto rank = number_in(rank_variable, 0, *size - 1);
    if (!rank) return tl::unexpected(rank.error());
    return RendezvousPlace{
        {}, {}, static_cast<std::uint32_t>(*rank), static_cast<std::uint32_t>(*size)};
}

/// The address of rank 0 where torchrun says that it is, at the next port: torchrun itself uses the
/// one that it names. The host may have a name. Rank 0 may know it by another address than the
/// others, so it listens at all.
Expected<std::string> address_of_master(bool is_rank_0) {
    std::string name = text_in("MASTER_ADDR");
    if (name.empty()) return unexpected(not_set("MASTER_ADDR"));
    // A system without a table of hosts does not know this name (RFC 6761).
    if (name == "localhost") name = "127.0.0.1";
    const auto port = number_in("MASTER_PORT", 1, 65'534);
    if (!port) return tl::unexpected(port.error());
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* all = nullptr;
    if (const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &all); error != 0) {
        return unexpected("MASTER_ADDR " + name + ": " + ::gai_strerror(error));
    }
    Address master = from_socket_address(all->ai_addr);
    ::freeaddrinfo(all);
    if (!master.is_set()) return unexpected("MASTER_ADDR " + name + " has no address of IP");
    if (is_rank_0) master = {.family = master.family};
    master.port = static_cast<std::uint16_t>(*port + 1);
    return master.to_string();
}

Expected<WayResult> join_scheduler(const Scheduler& scheduler, std::chrono::milliseconds patience) {
    auto at = place_in(scheduler.rank, scheduler.size);
    if (!at) return tl::unexpected(at.error());
    at->service = text_in("WIREPROOF_RENDEZVOUS");
    const auto checked = check_address(at->service);
    if (!checked) return unexpected("WIREPROOF_RENDEZVOUS: " + checked.error().message);
    std::string name;
    for (const char* variable : scheduler.job) name += text_in(variable) + "\n";
    auto token = token_for(hash_of(name));
    if (!token) return tl::unexpected(token.error());
    at->token = std::move(*token);
    return meet_at(*std::move(at), scheduler.name, patience);
}

}  // namespace

Expected<WayResult> try_launch(std::chrono::milliseconds) {
    for (const char* variable : {"WIREPROOF_RENDEZVOUS", "WIREPROOF_RANK", "WIREPROOF_JOB"}) {
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

Expected<WayResult> try_ranks(std::chrono::milliseconds patience) {
    for (const char* variable : {"WIREPROOF_RENDEZVOUS", "WIREPROOF_RANK"}) {
        if (!is_set(variable)) return WayResult::lacking(not_set(variable));
    }
    auto at = place_in("WIREPROOF_RANK", "WIREPROOF_SIZE");
    if (!at) return tl::unexpected(at.error());
    at->service = text_in("WIREPROOF_RENDEZVOUS");
    const auto checked = check_address(at->service);
    if (!checked) return unexpected("WIREPROOF_RENDEZVOUS: " + checked.error().message);
    auto token = own_token();
    if (!token) return tl::unexpected(token.error());
    at->token = std::move(*token);
    return meet_at(*std::move(at), "WIREPROOF_RANK", patience);
}

Expected<WayResult> try_torchrun(std::chrono::milliseconds patience) {
    if (!is_set("WIREPROOF_LAUNCHER")) return WayResult::lacking(not_set("WIREPROOF_LAUNCHER"));
    const std::string launcher = text_in("WIREPROOF_LAUNCHER");
    if (launcher != "torchrun") {
        return unexpected("WIREPROOF_LAUNCHER is " + launcher + ", and only torchrun needs it");
    }
    auto at = place_in("RANK", "WORLD_SIZE");
    if (!at) return tl::unexpected(at.error());
    auto token = own_token();
    if (!token) return tl::unexpected(token.error());
    at->token = std::move(*token);
    auto service = address_of_master(at->rank == 0);
    if (!service) return tl::unexpected(service.error());
    at->service = std::move(*service);
    return meet_at(*std::move(at), "torchrun", patience);
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
            "WIREPROOF_PEERS: the address of rank " + std::to_string(peers.size() - 1);
        const auto checked = check_address(peers.back());
        if (!checked) return unexpected(who + ": " + checked.error().message);
        if (!known.insert(peers.back()).second) return unexpected(who + " is there twice");
        if (peers.size() > rendezvous_ranks_max) return unexpected(who + " is one too many");
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
