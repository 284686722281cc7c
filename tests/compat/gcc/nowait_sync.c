/* With REVOFF_NOWAIT=sync, the kernel of a nowait region has ended when the next statement runs
   (data is copied back later, when its task is done). Without it, the host region would run
   concurrently with the thread.
   env: REVOFF_NOWAIT=sync */
#include "check.h"
#pragma omp requires reverse_offload

static int gone_on, met;

/* Waits for a second: the thread arrives only if the region runs concurrently with it. */
static void wait_for_thread(void)
{
    struct timespec pause = {0, 10000000};
    for (int i = 0; i < 100 && !met; i++) {
        nanosleep(&pause, NULL);
        met = __atomic_load_n(&gone_on, __ATOMIC_SEQ_CST);
    }
}

int main(void)
{
    int initial = -1, x = 1;
#pragma omp target nowait map(from : initial) map(tofrom : x)
    {
        initial = omp_is_initial_device();
        x += 10;
#pragma omp target device(ancestor : 1)
        wait_for_thread();
    }
    __atomic_store_n(&gone_on, 1, __ATOMIC_SEQ_CST);
#pragma omp taskwait
    EXPECT_ON_DEVICE(initial);
    /* Without a device, the host may run it later. */
    if (on_device())
        EXPECT(met, 0);
    EXPECT(x, 11);

    /* Regions that it depends on have ended before. It still waits for a host task that it
       depends on. */
    int y = 1;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : y) shared(y)
        y *= 3;
#pragma omp target nowait depend(inout : y) map(tofrom : y)
        y += 4;
#pragma omp target nowait depend(inout : y) map(tofrom : y)
        y *= 5;
#pragma omp taskwait
    }
    EXPECT(y, 35);
    return finish();
}
