/* Two shared libraries with target regions of their own, and the program with its own.
   library: parts/first_library.c
   library: parts/second_library.c */
#include "check.h"
#pragma omp requires reverse_offload

int first_library(int what, int *initial);
int second_library(int what, int *initial);

static int calls;

static void called(void)
{
    calls++;
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        int initial = -1, first = -1, second = -1;
        EXPECT(second_library(5, &second), 1205);
#pragma omp target map(from : initial)
        {
            initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
            called();
        }
        EXPECT(first_library(7, &first), 1107);
        EXPECT_ON_DEVICE(initial);
        EXPECT_ON_DEVICE(first);
        EXPECT_ON_DEVICE(second);
        EXPECT(calls, round + 1);
    }
    return finish();
}
