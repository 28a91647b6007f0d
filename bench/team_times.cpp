// Measures a barrier or an all-reduce of doubles of am::Team among processes of this host, and
// prints the nanoseconds of one. The script bench/collectives runs it beside mpi_times.
//
//      cmake --preset release -DWIREPROOF_BENCH=ON
//      cmake --build --preset release --target team_times
//      build/release/bench/team_times shm|udp RANKS BYTES COUNT        0 bytes: a barrier
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/time_in_slices.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/collective.hpp"

namespace wireproof::am {
namespace {

struct Plan {
    bool shm = false;
    std::size_t ranks = 0;
    std::size_t bytes = 0;
    int count = 0;
};

/// The same in all processes: the parent makes it.
Options options_of(const Plan& plan) {
    Options options;
    const auto number = static_cast<std::size_t>(::getpid());
    options.job = number;
    for (std::size_t i = 0; i < plan.ranks; ++i) {
        options.peers.push_back(plan.shm ? "shm:team_times." + std::to_string(number)
                                         : "127.0.0." + std::to_string(i + 1) + ":" +
                                               std::to_string(10'000 + number % 20'000));
    }
    return options;
}

/// Each rank has its own processor, if there are enough.
void pin(const Plan& plan, std::size_t rank) {
    if (plan.ranks > static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN))) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank, &set);
    (void)::sched_setaffinity(0, sizeof set, &set);
}

void check(Status status) {
    WIREPROOF_CHECK(status == Status::ok);
}

void run(const Plan& plan, Options options, std::size_t rank) {
    pin(plan, rank);
    options.self = rank;
    auto endpoint = Endpoint::open(options);
    if (!endpoint) std::fprintf(stderr, "team_times: %s\n", endpoint.error().c_str());
    WIREPROOF_CHECK(endpoint);
    auto team = Team::create(*endpoint, 1);
    WIREPROOF_CHECK(team);
    std::vector<double> values(plan.bytes / sizeof(double), static_cast<double>(rank));
    const auto reduce = [&] { check(team->all_reduce(values, Reduction::sum)); };
    if (!values.empty()) {
        reduce();
        WIREPROOF_CHECK(values.back() == static_cast<double>(plan.ranks * (plan.ranks - 1) / 2));
        values.assign(values.size(), 0);  // a sum of many doublings overflows
    }
    check(team->barrier());
    const double nanoseconds = values.empty()
                                   ? time_in_slices([&] { check(team->barrier()); }, plan.count)
                                   : time_in_slices(reduce, plan.count);
    if (rank == 0) std::printf("%.1f\n", nanoseconds);
    (void)endpoint->close();
}

std::optional<Plan> parse(int argc, char** argv) {
    if (argc != 5) return std::nullopt;
    const std::string_view wire = argv[1];
    const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
    const Plan plan{.shm = wire == "shm",
                    .ranks = number(2),
                    .bytes = number(3),
                    .count = static_cast<int>(number(4))};
    if ((!plan.shm && wire != "udp") || plan.ranks < 2 || plan.ranks > 200 || plan.count < 1) {
        return std::nullopt;
    }
    return plan;
}

}  // namespace
}  // namespace wireproof::am

int main(int argc, char** argv) {
    using namespace wireproof::am;
    const auto plan = parse(argc, argv);
    if (!plan) {
        std::fprintf(stderr, "usage: team_times shm|udp RANKS BYTES COUNT\n");
        return 2;
    }
    const Options options = options_of(*plan);
    for (std::size_t rank = 1; rank < plan->ranks; ++rank) {
        const pid_t child = ::fork();
        WIREPROOF_CHECK(child >= 0);
        if (child != 0) continue;
        run(*plan, options, rank);
        return 0;
    }
    run(*plan, options, 0);
    bool good = true;
    for (int status = 0; ::wait(&status) > 0;) good = good && status == 0;
    return good ? 0 : 1;
}
