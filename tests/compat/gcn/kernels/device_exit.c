#include "device.h"

NO_CONSTRUCTORS

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    if (is_first(wave))
        end_process(wave, 3, 0);
    return 0;
}
