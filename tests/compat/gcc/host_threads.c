/* Kernels that several threads of the host launch at the same time, whose host regions wait
   for each other.
   With OMP_TARGET_OFFLOAD=mandatory, what GCC 14 takes for the default device inside
   "parallel" is set only by a target region outside, or by the environment.
   env: OMP_DEFAULT_DEVICE=0 */
#include "check.h"
#pragma omp requires reverse_offload

enum { THREADS = 5 };

static int there, met;

static void meet(int *mine)
{
    __atomic_add_fetch(&there, 1, __ATOMIC_SEQ_CST);
    if (arrived(&there, THREADS))
        __atomic_add_fetch(&met, 1, __ATOMIC_SEQ_CST);
    *mine *= 2;
}

int main(void)
{
    int threads = 0;
    omp_set_dynamic(0);
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num(), initial = -1, result = -1;
        if (thread == 0)
            threads = omp_get_num_threads();
#pragma omp target map(from : initial, result) firstprivate(thread)
        {
            initial = omp_is_initial_device();
            int mine = thread;
#pragma omp target device(ancestor : 1) map(tofrom : mine)
            meet(&mine);
            result = mine;
        }
        EXPECT_ON_DEVICE(initial);
        EXPECT(result, 2 * thread);
        /* Once more, in any order: allocations of one thread concurrent with kernels of
           others. */
        for (int round = 0; round < 10; round++) {
            int data[32], sum = 0;
            for (int i = 0; i < 32; i++)
                data[i] = thread + i;
#pragma omp target map(tofrom : data) map(tofrom : sum)
            for (int i = 0; i < 32; i++) {
                data[i]++;
                sum += data[i];
            }
            EXPECT(sum, 32 * (thread + 1) + 31 * 16);
            EXPECT(data[31], thread + 32);
        }
    }
    EXPECT(threads, THREADS);
    EXPECT(there, THREADS);
    EXPECT(met, THREADS);
    return finish();
}
