/* Prints the world size and the host of each rank. */
#include <mpi.h>

#include <stdio.h>
#include <unistd.h>

enum { MOST_RANKS = 16 };

int main(int argc, char** argv) {
    char host[MPI_MAX_PROCESSOR_NAME] = {0};
    char hosts[MOST_RANKS][MPI_MAX_PROCESSOR_NAME];
    int rank = 0;
    int size = 0;
    int length = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    MPI_Gather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0,
               MPI_COMM_WORLD);
    if (rank == 0) {
        printf("world %d on", size);
        for (int i = 0; i < size && i < MOST_RANKS; i++) {
            printf(" %s", hosts[i]);
        }
        printf("\n");
    }
    /* MPICH 4.0 hangs in MPI_Finalize over UCX if one rank has closed its endpoints and waits in
     * PMI, without progress, when another begins to close its own. It cannot happen if all ranks
     * have left MPI before the first one finalizes. */
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    MPI_Finalize();
    return 0;
}
