/* Five kernels that one thread starts without waiting, whose host regions wait for each other.
   They must run concurrently. */
#include "check.h"
#pragma omp requires reverse_offload

enum { KERNELS = 5 };

static int there, met;

static void meet(void)
{
    __atomic_add_fetch(&there, 1, __ATOMIC_SEQ_CST);
    if (on_device() && arrived(&there, KERNELS))
        __atomic_add_fetch(&met, 1, __ATOMIC_SEQ_CST);
}

int main(void)
{
    int initial[KERNELS];
    for (int k = 0; k < KERNELS; k++) {
        initial[k] = -1;
#pragma omp target nowait map(from : initial[k]) firstprivate(k)
        {
            initial[k] = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
            meet();
        }
    }
#pragma omp taskwait
    for (int k = 0; k < KERNELS; k++)
        EXPECT_ON_DEVICE(initial[k]);
    EXPECT(there, KERNELS);
    /* Without a device, the host runs nowait regions one after the other. */
    if (on_device())
        EXPECT(met, KERNELS);
    return finish();
}
