/* Several host regions in one kernel, some of them in loops and branches. */
#include "check.h"
#pragma omp requires reverse_offload

static int log_[64], logged;

static void note(int what)
{
    log_[logged++] = what;
}

int main(void)
{
    int initial = -1, total = 0;
#pragma omp target map(from : initial) map(tofrom : total)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < 10; i++) {
            int squared = 0;
#pragma omp target device(ancestor : 1) firstprivate(i)
            note(i);
#pragma omp target device(ancestor : 1) map(tofrom : squared) firstprivate(i)
            {
                squared += i * i;
                note(100 + i);
            }
            if (i % 2) {
#pragma omp target device(ancestor : 1) map(to : squared)
                note(1000 + squared);
            }
            total += squared;
        }
#pragma omp target device(ancestor : 1)
        note(-1);
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(total, 285);
    int at = 0;
    for (int i = 0; i < 10; i++) {
        EXPECT(log_[at++], i);
        EXPECT(log_[at++], 100 + i);
        if (i % 2)
            EXPECT(log_[at++], 1000 + i * i);
    }
    EXPECT(log_[at++], -1);
    EXPECT(logged, at);
    return finish();
}
