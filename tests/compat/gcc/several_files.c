/* Two files with target regions, and "requires" in both; a region of one calls a device
   function of the other.
   with: parts/other_file.c */
#include "check.h"
#pragma omp requires reverse_offload

#pragma omp declare target
int other_ask(int what);
#pragma omp end declare target
int other_kernel(int *initial);
extern int other_calls;

static int calls;

static void called(void)
{
    calls++;
}

int main(void)
{
    int initial = -1, other_initial = -1, got = 0;
#pragma omp target map(from : initial, got)
    {
        initial = omp_is_initial_device();
        got = other_ask(4);
#pragma omp target device(ancestor : 1)
        called();
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(got, 43);
    EXPECT(calls, 1);
    EXPECT(other_calls, 1);
    EXPECT(other_kernel(&other_initial), 1003);
    EXPECT_ON_DEVICE(other_initial);
    EXPECT(other_calls, 2);
    return finish();
}
