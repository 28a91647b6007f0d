/* Each rank reads and writes the memory of the next rank by one-sided calls with requests. When a
   request is complete, a Get has its data, and the origin of a Put may be used again. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, WORDS = 64 };

static int wrong = 0;

static void expect(const char* what, int rank, int round, long got, long wanted) {
    if (got == wanted) return;
    if (wrong++ < 10)
        fprintf(stderr, "rank %d, round %d: %s is %ld, not %ld\n", rank, round, what, got, wanted);
}

int main(int argc, char** argv) {
    int rank, ranks;
    long* memory;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int next = (rank + 1) % ranks;
    MPI_Win_allocate(3 * WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    for (int i = 0; i < WORDS; ++i) memory[i] = 1000L * rank + i;
    for (int i = WORDS; i < 3 * WORDS; ++i) memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Request request;
        long got[4] = {-1, -1, -1, -1};
        const int count = 1 + round % 4, at = round % (WORDS - 4);
        MPI_Rget(got, count, MPI_LONG, next, at, count, MPI_LONG, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; ++i)
            expect("a word", rank, round, got[i], 1000L * next + at + i);

        long sum = -1;
        const long one = 1;
        MPI_Rget_accumulate(&one, 1, MPI_LONG, &sum, 1, MPI_LONG, next, WORDS, 1, MPI_LONG, MPI_SUM,
                            window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect("a sum", rank, round, sum, round);

        /* The old words and the new ones: a Read and a Write of the same bytes, without a fence. */
        long old[WORDS], new[WORDS];
        for (int i = 0; i < WORDS; ++i) old[i] = -1, new[i] = round + 1;
        MPI_Rget_accumulate(new, WORDS, MPI_LONG, old, WORDS, MPI_LONG, next, 2 * WORDS, WORDS,
                            MPI_LONG, MPI_REPLACE, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < WORDS; ++i) expect("a replaced word", rank, round, old[i], round);

        long put = round;
        MPI_Rput(&put, 1, MPI_LONG, next, WORDS + 1, 1, MPI_LONG, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        put = -1;
        MPI_Win_flush(next, window);
        MPI_Rget(got, 1, MPI_LONG, next, WORDS + 1, 1, MPI_LONG, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect("what was put", rank, round, got[0], round);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("%d ranks: all is right\n", ranks);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
