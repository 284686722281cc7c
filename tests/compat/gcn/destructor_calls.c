/* A destructor on the device calls the host, which would wait forever. The program has already
   ended.
   stock: any
   only: stand-in
   output: destructors of device 0: kernel `_fini_array`:
   output: a constructor or destructor of the device calls the target region main._omp_fn */
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
