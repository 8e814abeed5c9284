/* Two ranks exchange large messages: usage: exchange BYTES COUNT */
#include <mpi.h>

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int bytes = argc > 2 ? atoi(argv[1]) : 0;
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    char* out = calloc(2, (size_t)bytes);
    for (int i = 0; i < count; i++) {
        MPI_Sendrecv(out, bytes, MPI_CHAR, 1 - rank, 0, out + bytes, bytes, MPI_CHAR, 1 - rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(out);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    MPI_Finalize();
    return 0;
}
