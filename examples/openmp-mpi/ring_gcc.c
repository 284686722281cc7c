/*
 * Sums the ranks of an MPI program in a target region. A number of each rank goes round all ranks: the
 * region, while it runs on the device, has the host exchange it by MPI.
 *
 * For GCC. ring_clang.c is the same for clang, which does not compile `ancestor`.
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

#pragma omp target map(tofrom : sum) firstprivate(me, ranks)
    {
        int number = me;

        for (int step = 0; step < ranks; step++) {
            sum += number;
#pragma omp target device(ancestor : 1) map(tofrom : number) firstprivate(me, ranks)
            shift(&number, me, ranks);
        }
    }

    printf("rank %d of %d: %d\n", me, ranks, sum);
    MPI_Finalize();
    return 0;
}
