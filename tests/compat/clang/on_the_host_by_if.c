/* Regions that a condition keeps on the host, and the initial device. */
#include "check.h"

int main(void)
{
    int a = 1, initial = -1, yes = 1, no = 0;
#pragma omp target if (no) map(from : initial) map(tofrom : a)
    {
        initial = omp_is_initial_device();
        a++;
    }
    EXPECT(initial, 1);
    EXPECT(a, 2);
#pragma omp target if (yes) map(from : initial) map(tofrom : a)
    {
        initial = omp_is_initial_device();
        a++;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(a, 3);
#pragma omp target device(omp_get_initial_device()) map(from : initial) map(tofrom : a)
    {
        initial = omp_is_initial_device();
        a++;
    }
    EXPECT(initial, 1);
    EXPECT(a, 4);
#pragma omp target data map(tofrom : a) if (no)
    EXPECT(omp_target_is_present(&a, omp_get_default_device()), 0);
#pragma omp target data map(tofrom : a) device(omp_get_initial_device())
    a++;
    EXPECT(a, 5);
    return finish();
}
