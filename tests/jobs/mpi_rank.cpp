// A rank that uses MPI and Wireproof in one process. It prints the sum of all ranks as each of them
// finds it.
//
// usage: mpi_rank first|last      whether it joins before MPI_Init or after
#define OMPI_SKIP_MPICXX  // the old C++ interface
#include <mpi.h>
#include <wireproof/am.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>

using namespace wireproof::am;

namespace {

constexpr std::chrono::minutes patience(4);  // it only ends a test that hangs

std::optional<Endpoint> join() {
    Options options;
    options.peer_timeout = std::chrono::hours(24);  // no rank is lost for want of a processor
    auto node = Endpoint::join(options, patience);
    if (node) return std::move(*node);
    std::fprintf(stderr, "mpi_rank: %s\n", node.error().c_str());
    return std::nullopt;
}

/// Sends the number of this rank to each other, and adds theirs.
std::uint64_t sum_of_ranks(Endpoint& node) {
    constexpr std::uint16_t number = 1;
    std::uint64_t sum = node.self();
    std::size_t heard = 1;
    node.handle(number, [&](const Message& message) {
        sum += message.words()[0];
        ++heard;
    });
    for (std::size_t peer = 0; peer < node.nodes(); ++peer) {
        if (peer == node.self()) continue;
        const auto own = static_cast<std::uint32_t>(node.self());
        while (node.request(peer, number, {own}) == Status::would_block) node.poll();
    }
    (void)node.wait([&] { return heard == node.nodes(); }, patience);
    node.handle(number, {});
    return sum;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const bool first = std::string_view(arguments[1]) == "first";
    std::optional<Endpoint> node;
    if (first) node = join();
    MPI_Init(&count, &arguments);
    if (!first) node = join();
    int rank = 0;
    int sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!node) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    std::printf("rank %d is node %zu: sums %d and %llu\n", rank, node->self(), sum,
                static_cast<unsigned long long>(sum_of_ranks(*node)));
    const bool closed = node->close(patience) == Status::ok;
    node.reset();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return closed ? 0 : 1;
}
