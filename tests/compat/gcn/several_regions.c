/* Regions of two kernels with calls between them: each kernel gets its own functions. */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

static int order[4], count;

static void note(int what)
{
    order[count++] = what;
}

int main(void)
{
    int initial[2] = {-1, -1};
#pragma omp target map(tofrom : initial)
    {
        initial[0] = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
        note(10);
#pragma omp target device(ancestor : 1)
        note(11);
    }
#pragma omp target map(tofrom : initial)
    {
        initial[1] = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
        note(20);
#pragma omp target device(ancestor : 1)
        note(21);
    }
    EXPECT_ON_DEVICE(initial[0]);
    EXPECT_ON_DEVICE(initial[1]);
    EXPECT(count, 4);
    EXPECT(order[0], 10);
    EXPECT(order[1], 11);
    EXPECT(order[2], 20);
    EXPECT(order[3], 21);
    return finish();
}
