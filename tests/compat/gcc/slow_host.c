/* A slow host function delays only its caller: it returns only when all calls of the others
   have been served. */
#include "check.h"
#pragma omp requires reverse_offload

enum { THREADS = 4, ROUNDS = 20 };

static int served, enough;

static void slow(void)
{
    enough = arrived(&served, (THREADS - 1) * ROUNDS);
}

static void quick(void)
{
    __atomic_add_fetch(&served, 1, __ATOMIC_SEQ_CST);
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
#pragma omp parallel num_threads(THREADS)
        {
            if (omp_get_thread_num() == 0) {
#pragma omp target device(ancestor : 1)
                slow();
            } else {
                for (int i = 0; i < ROUNDS; i++) {
#pragma omp target device(ancestor : 1)
                    quick();
                }
            }
        }
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(enough, 1);
    EXPECT(served, (THREADS - 1) * ROUNDS);
    return finish();
}
