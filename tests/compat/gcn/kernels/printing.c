#include "device.h"

struct data {
    int initial;
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
    print_integer(wave, "n = ", -7);
    print_real(wave, "d ", 2.5);
    print_text(wave, LINE, "first ", "second");
    print_text(wave, RAW, "half of a line, ", "the other half\n");
    addresses[0] = (void *)1;
    call(wave, IN_SLOT, function(wave, 0), 1, addresses, variable(wave, SIZES), variable(wave, KINDS));
    print_integer(wave, "n = ", -7);
    /* More messages than the queue has slots. */
    for (int i = 0; i < 3 * SLOTS; i++)
        print_text(wave, RAW, ".", "");
    print_text(wave, LINE, "", "");
    /* The kernel ends right after this. */
    print_text(wave, LINE, "the last ", "words");
    data->initial = 0;
    return 0;
}
