/* A kernel without a simulation: the stand-in reports an error.
   ends: error
   stock: any
   output: kernel `main._omp_fn.0`: it is not in REVOFF_HSA_STAND_IN_KERNELS
   only: stand-in */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    return finish();
}
