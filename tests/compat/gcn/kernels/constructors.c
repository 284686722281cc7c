#include "device.h"

KERNEL(construct, "_init_array");
int construct(const struct wave *wave)
{
    ++*(int *)wave->find(wave->image, "constructed");
    return 0;
}

KERNEL(destruct, "_fini_array");
int destruct(const struct wave *wave)
{
    print_integer(wave, "destructed, of ", *(int *)wave->find(wave->image, "constructed"));
    return 0;
}

struct data {
    int initial;
    int found;
};

KERNEL(region, "ask._omp_fn.0");
int region(const struct wave *wave)
{
    struct data *data = wave->arguments->vars[0];
    data->initial = 0;
    data->found = *(int *)wave->find(wave->image, "constructed");
    return 0;
}
