/* Five kernels that are all started before the first wait, each with its own requests. */
#include "check.h"
#pragma omp requires reverse_offload

enum { KERNELS = 5, REQUESTS = 24 };

static int served[KERNELS][REQUESTS];

static int serve(int kernel, int i)
{
    __atomic_add_fetch(&served[kernel][i], 1, __ATOMIC_RELAXED);
    return 100 * kernel + i;
}

int main(void)
{
    int initial[KERNELS], wrong[KERNELS];
    for (int k = 0; k < KERNELS; k++) {
        initial[k] = wrong[k] = -1;
#pragma omp target nowait map(from : initial[k], wrong[k]) firstprivate(k)
        {
            int bad = 0;
            initial[k] = omp_is_initial_device();
#pragma omp parallel for num_threads(4) reduction(+ : bad)
            for (int i = 0; i < REQUESTS; i++) {
                int got = -1;
#pragma omp target device(ancestor : 1) map(from : got) firstprivate(k, i)
                got = serve(k, i);
                bad += got != 100 * k + i;
            }
            wrong[k] = bad;
        }
    }
#pragma omp taskwait
    for (int k = 0; k < KERNELS; k++) {
        EXPECT_ON_DEVICE(initial[k]);
        EXPECT(wrong[k], 0);
        for (int i = 0; i < REQUESTS; i++)
            EXPECT(served[k][i], 1);
    }
    return finish();
}
