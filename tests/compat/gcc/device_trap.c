/* A kernel that traps: the program ends with an error.
   ends: error
   output: libgomp: kernel `main._omp_fn.
   output: on the device */
#include "check.h"
#pragma omp requires reverse_offload

static void called(void)
{
}

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
    {
#pragma omp target device(ancestor : 1)
        called();
        __builtin_trap();
    }
    puts("the program goes on after a trap");
    return 0;
}
