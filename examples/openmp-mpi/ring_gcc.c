/*
 * The program of ring.c for GCC: its regions call the host by `target device(ancestor : 1)`, which clang does not
 * compile.
 */

#include <mpi.h>
#include <stdio.h>

#pragma omp requires reverse_offload

/* Sends the number to the next rank and replaces it by that of the previous one. */
static void shift(int *number, int me, int ranks)
{
    MPI_Sendrecv_replace(number, 1, MPI_INT, (me + 1) % ranks, 0, (me + ranks - 1) % ranks, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int threads, me, ranks, sum = 0;

    /* The host runs such regions on threads of its own, one at a time here. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
    if (threads < MPI_THREAD_SERIALIZED) {
        fprintf(stderr, "%s: this MPI allows no calls by other threads\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

#pragma omp target map(tofrom : sum)
    {
        int number = me;

        for (int step = 0; step < ranks; step++) {
            sum += number;
#pragma omp target device(ancestor : 1) map(always, tofrom : number)
            shift(&number, me, ranks);
        }
    }

    printf("rank %d of %d: %d\n", me, ranks, sum);
    MPI_Finalize();
    return 0;
}
