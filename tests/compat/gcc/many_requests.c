/* 1600 requests from one kernel: each is served once. */
#include "check.h"
#pragma omp requires reverse_offload

enum { REQUESTS = 1600 };

static int served[REQUESTS];

static void serve(int i, int *twice)
{
    __atomic_add_fetch(&served[i], 1, __ATOMIC_RELAXED);
    *twice = 2 * i;
}

int main(void)
{
    int initial = -1, wrong = 0;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
#pragma omp target teams distribute parallel for num_teams(4) thread_limit(8) num_threads(8)       \
    map(tofrom : wrong) reduction(+ : wrong)
    for (int i = 0; i < REQUESTS; i++) {
        int twice = -1;
#pragma omp target device(ancestor : 1) map(from : twice) firstprivate(i)
        serve(i, &twice);
        wrong += twice != 2 * i;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(wrong, 0);
    for (int i = 0; i < REQUESTS; i++)
        EXPECT(served[i], 1);
    return finish();
}
