/* The kernel of `many_calls`. The n-th call of each wavefront has the form FORM(n). */
#include "device.h"

enum { EACH = 50 };

struct data {
    int initial;
    int wrong;
};

/* In the image's tables. */
enum { SIZES, KINDS };

struct frame {
    void *addresses[2];
    int twice;
};

NO_CONSTRUCTORS

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    struct data *data = wave->arguments->vars[0];
    struct frame *frame = (struct frame *)own_stack(wave);
    for (int n = 0; n < EACH; n++) {
        int i = (int)(wave->team * wave->threads + wave->thread) * EACH + n;
        frame->twice = -1;
        frame->addresses[0] = (void *)(intptr_t)i;
        frame->addresses[1] = &frame->twice;
        call(wave, FORM(n), function(wave, 0), 2, frame->addresses, variable(wave, SIZES),
             variable(wave, KINDS));
        if (frame->twice != 2 * i)
            __atomic_add_fetch(&data->wrong, 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&data->initial, 0, __ATOMIC_RELAXED);
    return 0;
}
