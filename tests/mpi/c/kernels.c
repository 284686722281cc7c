/* Kernels in C that call each function of MPI. Each stores 1 in its result if all are right. */

#include "revoff_mpi.h"

/* Counts as the line of the first wrong result. */
#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            *result = __LINE__;                                                                  \
            return;                                                                              \
        }                                                                                        \
    } while (0)

/* Messages between neighbours, with one thread of each rank. */
REVOFF_KERNEL(c_messages, uint64_t *)
{
    uint64_t *result = REVOFF_PARAM(uint64_t *, 0);
    uint32_t me, ranks, next, previous;
    revoff_mpi_received received;
    uint64_t sending, receiving;

    CHECK(revoff_mpi_rank(&me) && revoff_mpi_size(&ranks) && me < ranks);
    next = (me + 1) % ranks;
    previous = (me + ranks - 1) % ranks;

    uint16_t numbers[3] = {(uint16_t)me, 5, 7}, came[4] = {0, 0, 0, 9};
    CHECK(revoff_mpi_isend(next, 1, numbers, sizeof numbers, &sending));
    CHECK(revoff_mpi_recv(REVOFF_MPI_ANY, 1, came, sizeof came, &received));
    CHECK(revoff_mpi_wait(sending, NULL, 0, NULL));
    CHECK(received.from == previous && received.tag == 1 && received.bytes == sizeof numbers);
    CHECK(came[0] == previous && came[1] == 5 && came[2] == 7 && came[3] == 9);

    CHECK(revoff_mpi_irecv(next, 2, sizeof came, &receiving));
    CHECK(revoff_mpi_send(previous, 2, &me, sizeof me));
    CHECK(revoff_mpi_wait(receiving, came, sizeof came, &received));
    CHECK(received.from == next && received.bytes == sizeof me && came[0] == next);

    uint32_t other = 0;
    CHECK(revoff_mpi_sendrecv(next, &me, sizeof me, previous, &other, sizeof other, 3, &received));
    CHECK(received.from == previous && other == previous);

    uint32_t left[2] = {me, 0}, right[2] = {me, 1}, before[2], after[2];
    revoff_mpi_neighbor a = {previous, 4, left, sizeof left, before, sizeof before};
    revoff_mpi_neighbor b = {next, 5, right, sizeof right, after, sizeof after};
    CHECK(revoff_mpi_exchange(&a, &b));
    CHECK(before[0] == previous && before[1] == 1 && after[0] == next && after[1] == 0);
    *result = 1;
}

/* All ranks together. */
REVOFF_KERNEL(c_together, uint64_t *)
{
    uint64_t *result = REVOFF_PARAM(uint64_t *, 0);
    uint32_t me, ranks;

    CHECK(revoff_mpi_rank(&me) && revoff_mpi_size(&ranks));
    CHECK(revoff_mpi_barrier());
    int64_t number = me == 1 ? -5 : 0;
    CHECK(revoff_mpi_broadcast(1, &number, sizeof number) && number == -5);
    double sum[2] = {me, 0.5};
    CHECK(revoff_mpi_allreduce(REVOFF_MPI_F64, REVOFF_MPI_SUM, sum, sizeof sum));
    CHECK(sum[0] == ranks * (ranks - 1) / 2 && sum[1] == 0.5 * ranks);
    int8_t least = (int8_t)-(int)me;
    CHECK(revoff_mpi_reduce(0, REVOFF_MPI_I8, REVOFF_MPI_MIN, &least, 1));
    CHECK(least == (me ? -(int)me : -(int)(ranks - 1)));
    uint16_t bits = (uint16_t)(1 << me);
    CHECK(revoff_mpi_allreduce(REVOFF_MPI_U16, REVOFF_MPI_OR, &bits, sizeof bits));
    CHECK(bits == (1 << ranks) - 1);
    *result = 1;
}

/* Errors of MPI are no results. */
REVOFF_KERNEL(c_wrong, uint64_t *)
{
    uint64_t *result = REVOFF_PARAM(uint64_t *, 0);
    float number = 1;

    CHECK(!revoff_mpi_send(1000, 0, &number, sizeof number));
    CHECK(!revoff_mpi_allreduce(REVOFF_MPI_F32, REVOFF_MPI_XOR, &number, sizeof number));
    CHECK(!revoff_mpi_wait(12345, NULL, 0, NULL));
    *result = 1;
}
