#include "device.h"

enum { LENGTH = 8 };

struct data {
    int initial;
    int told;
    int sum;
    char *behind;
};

/* In the image's tables. */
enum { TABLE, SIZES, KINDS };
enum { TELL };

/* The variables that the region maps. */
enum { STREAM, DATA };

/* On a wavefront's stack: arguments and their targets. */
struct frame {
    void *addresses[3];
    int told;
};

NO_CONSTRUCTORS

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    void **vars = wave->arguments->vars;
    struct data *data = vars[DATA];
    struct frame *frame = (struct frame *)own_stack(wave);
    int *table = *(int **)variable(wave, TABLE);
    if (!is_first(wave))
        return 0;
    data->initial = 0;
    for (int i = 0; i < LENGTH; i++) {
        data->sum += table[i];
        table[i] = 2 * i;
    }
    frame->told = 0;
    frame->addresses[0] = data->behind = (char *)variable(wave, TABLE) + 4096;
    frame->addresses[1] = vars[STREAM];
    frame->addresses[2] = &frame->told;
    call(wave, IN_SLOT, function(wave, TELL), 3, frame->addresses, variable(wave, SIZES),
         variable(wave, KINDS));
    data->told = frame->told;
    return 0;
}
