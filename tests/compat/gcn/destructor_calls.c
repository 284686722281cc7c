/* A destructor on the device calls the host, which would wait forever. The program has already
   ended.
   stock: any
   output: destructors of device 0: kernel `_fini_array`:
   output: a constructor or destructor of the device calls the target region ask._omp_fn */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

static void serve(void)
{
}

#pragma omp begin declare target
__attribute__((destructor)) static void ask(void)
{
    if (!omp_is_initial_device()) {
#pragma omp target device(ancestor : 1)
        serve();
    }
}
#pragma omp end declare target

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    return finish();
}
