#include "device.h"

NO_CONSTRUCTORS

/* The address of a stack, which is not a function's. */
KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    if (!is_first(wave))
        return 0;
    call(wave, IN_SLOT, (uintptr_t)own_stack(wave), 0, 0, 0, 0);
    return 0;
}
