/* Each rank sends a message to its right neighbour and receives one from its left. Prints a row
 * "@NAME@ BYTES ROUNDS MICROSECONDS Pass" for each size that it is given, if the data is right.
 * Put your own pattern here. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, ranks, rounds = 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i++) {
        int size = atoi(argv[i]), right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
        char *sent = memset(malloc(size), rank + 1, size), *received = calloc(size, 1);
        double start = MPI_Wtime();
        for (int round = 0; round < rounds; round++)
            MPI_Sendrecv(sent, size, MPI_BYTE, right, 0, received, size, MPI_BYTE, left, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double time = (MPI_Wtime() - start) / rounds * 1e6;
        if (memcmp(memset(sent, left + 1, size), received, size)) MPI_Abort(MPI_COMM_WORLD, 3);
        if (rank == 0) printf("@NAME@ %d %d %.3f Pass\n", size, rounds, time);
        free(sent), free(received);
    }
    return MPI_Finalize();
}
