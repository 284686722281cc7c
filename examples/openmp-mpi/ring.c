/*
 * Sums the ranks of an MPI program in a target region. A number of each rank goes round all ranks: the
 * region, while it runs on the device, has the host exchange it by MPI.
 */

#include <mpi.h>
#include <stdio.h>

#include "revoff_openmp.h"

/* Device code calls this function, which is defined below and runs on the host. */
REVOFF_HOST_FUNCTION(shift)

static int me, ranks;

/* args: the number (tofrom). Sends it to the next rank and replaces it by that of the previous
   one. */
void shift(void **args)
{
    MPI_Sendrecv_replace(args[0], 1, MPI_INT, (me + 1) % ranks, 0, (me + ranks - 1) % ranks, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int threads, steps, first, sum = 0, failed = 0;

    /* The host runs such functions on threads of its own, one at a time here. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
    if (threads < MPI_THREAD_SERIALIZED) {
        fprintf(stderr, "%s: this MPI allows no calls by other threads\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    first = me;
    steps = ranks;

    /* GPU code without LLVM's device runtime: the region uses the launch's threads directly. */
#ifdef GPU
#pragma omp target teams ompx_bare num_teams(1) thread_limit(1) map(tofrom : sum, failed)
#else
#pragma omp target map(tofrom : sum, failed)
#endif
    {
        int number = first;

        for (int step = 0; step < steps; step++) {
            void *addrs[] = {&number};
            size_t sizes[] = {sizeof number};
            unsigned short kinds[] = {REVOFF_MAP_TOFROM | 2 << 8};

            sum += number;
            if (revoff_call(REVOFF_CALL(shift), 1, addrs, sizes, kinds) != REVOFF_STATUS_DONE)
                failed = 1;
        }
    }

    if (failed) {
        fprintf(stderr, "%s: a call of the host failed\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    printf("rank %d of %d: %d\n", me, ranks, sum);
    MPI_Finalize();
    return 0;
}
