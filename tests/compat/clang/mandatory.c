/* Mandatory offloading to an available device.
   env: OMP_TARGET_OFFLOAD=MANDATORY */
#include "check.h"

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT(initial, 0);
    EXPECT(omp_get_num_devices() > 0, 1);
    return finish();
}
