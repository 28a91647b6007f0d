// Measures a barrier or an all-reduce of doubles in MPI, and prints the nanoseconds of one. The
// script bench/collectives builds it with mpicxx and runs it beside team_times.
//
//      mpirun -n RANKS mpi_times BYTES COUNT        0 bytes: a barrier
#define OMPI_SKIP_MPICXX  // the old C++ interface
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/time_in_slices.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    std::vector<double> values(std::strtoul(argv[1], nullptr, 10) / sizeof(double), rank);
    const int count = std::atoi(argv[2]);
    const int size = static_cast<int>(values.size());
    const auto reduce = [&] {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    };
    if (!values.empty()) {
        reduce();
        if (values.back() != ranks * (ranks - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
        values.assign(values.size(), 0);  // a sum of many doublings overflows
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double nanoseconds = values.empty()
                                   ? time_in_slices([] { MPI_Barrier(MPI_COMM_WORLD); }, count)
                                   : time_in_slices(reduce, count);
    if (rank == 0) std::printf("%.1f\n", nanoseconds);
    MPI_Finalize();
    return 0;
}
