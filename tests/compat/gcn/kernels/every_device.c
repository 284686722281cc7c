#include "device.h"

struct data {
    int initial;
    int device;
};

/* In the image's tables. */
enum { SIZES, KINDS };

NO_CONSTRUCTORS

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    struct data *data = wave->arguments->vars[0];
    void **addresses = (void **)own_stack(wave);
    if (!is_first(wave))
        return 0;
    data->initial = 0;
    data->device = icvs(wave)->device;
    addresses[0] = (void *)(intptr_t)data->device;
    call(wave, IN_SLOT, function(wave, 0), 1, addresses, variable(wave, SIZES), variable(wave, KINDS));
    return 0;
}
