/* Without offloading regions run on the host, and there is no device.
   env: OMP_TARGET_OFFLOAD=DISABLED */
#include "check.h"

int main(void)
{
    int initial = -1, a[4] = {1, 2, 3, 4};
    EXPECT(omp_get_num_devices(), 0);
    EXPECT(omp_get_initial_device(), 0);
#pragma omp target data map(tofrom : a)
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
        a[1] = 20;
    }
    EXPECT(initial, 1);
    EXPECT(a[1], 20);
    return finish();
}
