#include "device.h"

struct data {
    int initial;
    int met;
};

/* In the image's tables. */
enum { SIZES, KINDS };

struct frame {
    void *addresses[1];
    int met;
};

NO_CONSTRUCTORS

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    struct data *data = wave->arguments->vars[0];
    struct frame *frame = (struct frame *)own_stack(wave);
    if (!is_first(wave))
        return 0;
    frame->addresses[0] = &frame->met;
    call(wave, IN_SLOT, function(wave, 0), 1, frame->addresses, variable(wave, SIZES),
         variable(wave, KINDS));
    data->initial = 0;
    data->met = frame->met;
    return 0;
}
