/* A variable of `declare target link`, for which the device has a pointer until it is mapped;
   and pointers to unmapped data, which a host region gets unchanged.
   output: said to a stream */
#include "check.h"
#pragma omp requires reverse_offload

enum { LENGTH = 1000 };

int table[LENGTH];
#pragma omp declare target link(table)

int main(void)
{
    int initial = -1, told = 0, sum = 0;
    FILE *stream = stderr;
    for (int i = 0; i < LENGTH; i++)
        table[i] = i;
#pragma omp target map(tofrom : table) map(from : initial) map(tofrom : told, sum)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < LENGTH; i++) {
            sum += table[i];
            table[i] = 2 * i;
        }
#pragma omp target device(ancestor : 1) map(always, tofrom : told)
        told = fprintf(stream, "said to a stream\n");
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(told, 17);
    EXPECT(sum, LENGTH * (LENGTH - 1) / 2);
    EXPECT(table[LENGTH - 1], 2 * (LENGTH - 1));
    return finish();
}
