/* A kernel accesses memory that is not allocated.
   ends: error
   stock: signal 6
   output: main._omp_fn.0
   output: 0xdead0000 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

int main(void)
{
    size_t nowhere = 0xdead0000;
#pragma omp target
    *(volatile int *)nowhere = 1;
    return finish();
}
