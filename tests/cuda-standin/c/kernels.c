/* Kernels for the tests of the stand-in. */

#include "revoff.h"

/* Adds a small and a large parameter. */
REVOFF_KERNEL(add, uint32_t, uint64_t, uint64_t *)
{
    uint64_t *sum = REVOFF_PARAM(uint64_t *, 2);

    *sum = REVOFF_PARAM(uint32_t, 0) + REVOFF_PARAM(uint64_t, 1);
}

/* Ends when the host writes a value other than 0. */
REVOFF_KERNEL(wait_for, const uint32_t *)
{
    const uint32_t *flag = REVOFF_PARAM(const uint32_t *, 0);

    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
        ;
}
