/* A kernel that calls abort(): the program ends with an error.
   ends: error
   output: on the device
   amd: no, there it is `device_abort` of gcn/, which ends by a signal */
#include "check.h"
#pragma omp requires reverse_offload

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    if (faults)
        return finish();
    puts("on the device");
    fflush(stdout);
#pragma omp target
    abort();
    puts("the program goes on after abort()");
    return 0;
}
