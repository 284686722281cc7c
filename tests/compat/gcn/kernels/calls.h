/* The kernel of `calls`. Its n-th call has the form FORM(n). */
#include "device.h"

enum { KINDS = 2, ROUNDS = 3 };

struct data {
    int initial;
    int sums[KINDS][ROUNDS];
};

/* In the image's tables. */
enum { SIZES, KINDS_OF_ARGUMENTS };
enum { WITHOUT, WITH };

/* On a wavefront's stack: arguments and their targets. */
struct frame {
    void *addresses[3];
    int values[4];
};

NO_CONSTRUCTORS

KERNEL(region, "main._omp_fn.0");
int region(const struct wave *wave)
{
    struct data *data = wave->arguments->vars[0];
    struct frame *frame = (struct frame *)own_stack(wave);
    const uint64_t *sizes = variable(wave, SIZES);
    const uint16_t *kinds = variable(wave, KINDS_OF_ARGUMENTS);
    if (!is_first(wave))
        return 0;
    if (sizes[2] != sizeof frame->values || kinds[0] % 256 != 0x0d || kinds[2] % 256 != 0x03)
        return 1;
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < ROUNDS; round++) {
            int sum = 0;
            for (int i = 0; i < 4; i++)
                frame->values[i] = i;
            frame->addresses[0] = (void *)(intptr_t)round;
            frame->addresses[1] = (void *)(intptr_t)kind;
            frame->addresses[2] = frame->values;
            call(wave, FORM(2 * round), function(wave, WITH), 3, frame->addresses, sizes, kinds);
            call(wave, FORM(2 * round + 1), function(wave, WITHOUT), 0, 0, 0, 0);
            for (int i = 0; i < 4; i++)
                sum += frame->values[i];
            data->sums[kind][round] = sum;
        }
    data->initial = 0;
    return 0;
}
