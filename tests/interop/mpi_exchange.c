/* A message passing program that checks all data that it receives. The ranks exchange messages of
   every length class, then many messages at once, and then sums over all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 20, AT_ONCE = 64 };
static unsigned char sent[LONGEST];
static unsigned char received[LONGEST];

static int wrong(const char* what, int rank, int size) {
    fprintf(stderr, "rank %d: %s of %d bytes is wrong\n", rank, what, size);
    return 1;
}

/* The bytes of each message differ from those of other messages. */
static void fill(unsigned char* to, int size, int key) {
    for (int i = 0; i < size; ++i) to[i] = (unsigned char)(i * 7 + key + (i >> 8));
}

static int ping_pong(int rank, int peer) {
    for (int size = 1; size <= LONGEST; size *= 4) {
        for (int turn = 0; turn < 5; ++turn) {
            fill(sent, size, turn);
            memset(received, 0xEE, (size_t)size);
            if (rank < peer) MPI_Send(sent, size, MPI_BYTE, peer, size, MPI_COMM_WORLD);
            MPI_Recv(received, size, MPI_BYTE, peer, size, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank > peer) MPI_Send(received, size, MPI_BYTE, peer, size, MPI_COMM_WORLD);
            if (memcmp(sent, received, (size_t)size) != 0) return wrong("a message", rank, size);
        }
    }
    return 0;
}

static int many_at_once(int rank, int peer) {
    const int size = 1000;
    MPI_Request requests[2 * AT_ONCE];
    for (int i = 0; i < AT_ONCE; ++i) {
        MPI_Irecv(received + i * size, size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < AT_ONCE; ++i) {
        fill(sent + i * size, size, i);
        MPI_Isend(sent + i * size, size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[AT_ONCE + i]);
    }
    MPI_Waitall(2 * AT_ONCE, requests, MPI_STATUSES_IGNORE);
    const int all = AT_ONCE * size;
    return memcmp(sent, received, (size_t)all) == 0 ? 0 : wrong("many at once", rank, all);
}

static int sums(int rank, int ranks) {
    for (int count = 1; count <= 1 << 16; count *= 16) {
        long* const mine = malloc(sizeof(long) * (size_t)count);
        long* const sum = malloc(sizeof(long) * (size_t)count);
        for (int i = 0; i < count; ++i) mine[i] = (long)i * (rank + 1);
        MPI_Allreduce(mine, sum, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        int bad = 0;
        for (int i = 0; i < count; ++i) bad += sum[i] != (long)i * ranks * (ranks + 1) / 2;
        free(mine);
        free(sum);
        if (bad != 0) return wrong("a sum", rank, count);
    }
    return 0;
}

int main(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int peer = rank ^ 1; /* the number of ranks is even */
    int bad = ping_pong(rank, peer) + many_at_once(rank, peer) + sums(rank, ranks);
    int all = 0;
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("%d ranks: all is right\n", ranks);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
