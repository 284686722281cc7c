#include "device.h"

enum { SERVE };

KERNEL(construct, "_init_array");
int construct(const struct wave *wave)
{
    return wave->teams != 1;
}

KERNEL(destruct, "_fini_array");
int destruct(const struct wave *wave)
{
    call(wave, IN_SLOT, function(wave, SERVE), 0, 0, 0, 0);
    return 0;
}

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    return wave->teams == 0;
}
