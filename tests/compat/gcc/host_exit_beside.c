/* A host function that ends the program while kernels and other host functions run.
   ends: exit 3 */
#include "check.h"
#pragma omp requires reverse_offload

static int there;

static void busy(int i)
{
    __atomic_add_fetch(&there, 1, __ATOMIC_SEQ_CST);
    arrived(&there, 4);
    if (i == 2)
        exit(3);
    /* Longer than the program runs. */
    for (;;)
        nanosleep(&(struct timespec){1, 0}, NULL);
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    if (faults)
        return finish();
    if (!on_device())
        exit(3);
#pragma omp target parallel num_threads(4)
    {
        int i = omp_get_thread_num();
#pragma omp target device(ancestor : 1) firstprivate(i)
        busy(i);
    }
    puts("the program goes on after exit()");
    return 1;
}
