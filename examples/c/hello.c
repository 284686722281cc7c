/*
 * A kernel in C that calls two functions of its host through GOMP_target_ext, as compilers do
 * for OpenMP's `target device(ancestor:1)`.
 */

#include <stdint.h>

#include "revoff.h"

/* The host provides these functions, see hello_host.c. */
REVOFF_HOST_FUNCTION(greet)
REVOFF_HOST_FUNCTION(sort)

/* The count of numbers that each thread sorts. */
#define COUNT 16

/* An unsigned short for `kinds`: the mapping and the alignment of the bytes. */
#define KIND(map, log2_align) ((unsigned short)((map) | (log2_align) << 8))

/* Kernel parameter: the array in which each thread stores the sum of its numbers, or 0. */
REVOFF_KERNEL(hello, uint64_t *)
{
    uint64_t *sums = REVOFF_PARAM(uint64_t *, 0);
    uint32_t me = revoff_team() * revoff_threads() + revoff_thread();

    /* Passes a text to the host, and two numbers by value. */
    static const char text[] = "hello from a device thread";
    {
        void *addrs[] = {(void *)text, (void *)(uintptr_t)revoff_team(),
                         (void *)(uintptr_t)revoff_thread()};
        size_t sizes[] = {sizeof text, sizeof(uint32_t), sizeof(uint32_t)};
        unsigned short kinds[] = {KIND(REVOFF_MAP_TO, 0), KIND(REVOFF_MAP_FIRSTPRIVATE_INT, 0),
                                  KIND(REVOFF_MAP_FIRSTPRIVATE_INT, 0)};

        GOMP_target_ext(GOMP_DEVICE_HOST_FALLBACK, REVOFF_CALL(greet), 3, addrs, sizes, kinds, 0,
                        NULL, NULL);
    }

    /* Passes an array on this thread's stack to the host and back, and receives a result. */
    uint32_t numbers[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = (i * 7 + me) % COUNT;
    uint64_t sum = 0;
    void *addrs[] = {numbers, &sum};
    size_t sizes[] = {sizeof numbers, sizeof sum};
    unsigned short kinds[] = {KIND(REVOFF_MAP_TOFROM, 2), KIND(REVOFF_MAP_FROM, 3)};

    sums[me] = 0;
    uint32_t status = revoff_call(REVOFF_CALL(sort), 2, addrs, sizes, kinds);
    /* GCC's wires carry no status; there, only the results show whether the call was served. */
    if (status != REVOFF_STATUS_DONE && status != REVOFF_STATUS_NONE)
        return;
    for (uint32_t i = 1; i < COUNT; i++)
        if (numbers[i - 1] > numbers[i])
            return;
    sums[me] = sum;
}
