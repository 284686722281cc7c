#include "device.h"

NO_CONSTRUCTORS

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    if (is_first(wave))
        end_process(wave, 0, 6);
    return 0;
}
