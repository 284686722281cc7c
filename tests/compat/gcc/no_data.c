/* A call without arguments: no clause, and no variable is used. */
#include "check.h"
#pragma omp requires reverse_offload

static int calls;

static void count(void)
{
    calls++;
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
        count();
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(calls, 1);
    return finish();
}
