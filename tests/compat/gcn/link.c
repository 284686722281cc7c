/* A variable of `declare target link`, to which the image has a pointer; and pointers to
   unmapped memory, which a host region gets unchanged: one to host memory, and one past the
   variable on the device.
   stock: any
   output: said to a stream */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { LENGTH = 8 };

struct data {
    int initial;
    int told;
    int sum;
    char *behind;
};

static char *handed;

static int tell(FILE *stream, char *pointer)
{
    handed = pointer;
    return fprintf(stream, "said to a stream\n");
}

int table[LENGTH];
#pragma omp declare target link(table)

int main(void)
{
    struct data data = {-1, 0, 0, NULL};
    FILE *stream = stderr;
    for (int i = 0; i < LENGTH; i++)
        table[i] = i;
#pragma omp target map(tofrom : table, data)
    {
        char *behind = (char *)(table + LENGTH) + 4096;
        int told = 0;
        data.initial = omp_is_initial_device();
        for (int i = 0; i < LENGTH; i++) {
            data.sum += table[i];
            table[i] = 2 * i;
        }
#pragma omp target device(ancestor : 1) map(tofrom : told)
        told = tell(stream, behind);
        data.told = told;
        data.behind = behind;
    }
    EXPECT_ON_DEVICE(data.initial);
    EXPECT(data.told, 17);
    EXPECT((size_t)handed, (size_t)data.behind);
    EXPECT(data.sum, LENGTH * (LENGTH - 1) / 2);
    EXPECT(table[LENGTH - 1], 2 * (LENGTH - 1));
    return finish();
}
