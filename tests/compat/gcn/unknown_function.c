/* A kernel requests a host function that does not exist.
   ends: error
   stock: any
   output: libgomp:
   only: stand-in */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

static void serve(void)
{
}

int main(void)
{
#pragma omp target
    {
#pragma omp target device(ancestor : 1)
        serve();
    }
    return finish();
}
