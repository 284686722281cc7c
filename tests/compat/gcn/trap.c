/* A kernel traps.
   ends: error
   stock: any
   output: main._omp_fn.0 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

int main(void)
{
#pragma omp target
    __builtin_trap();
    return finish();
}
