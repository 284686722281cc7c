/* Kernels in the order of their dependences, and host tasks between them.
   With OMP_TARGET_OFFLOAD=mandatory, what GCC 14 takes for the default device inside
   "parallel" is set only by a target region outside, or by the environment.
   env: OMP_DEFAULT_DEVICE=0 */
#include "check.h"
#pragma omp requires reverse_offload

static int order[8], steps;

static void step(int what)
{
    order[__atomic_fetch_add(&steps, 1, __ATOMIC_SEQ_CST)] = what;
}

int main(void)
{
    int initial = -1, x = 1;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp target nowait depend(out : x) map(tofrom : x) map(from : initial)
        {
            initial = omp_is_initial_device();
            x += 10;
#pragma omp target device(ancestor : 1)
            step(1);
        }
#pragma omp task depend(inout : x) shared(x)
        {
            x *= 2;
            step(2);
        }
#pragma omp target nowait depend(inout : x) map(tofrom : x)
        {
            x += 5;
#pragma omp target device(ancestor : 1)
            step(3);
        }
#pragma omp target nowait depend(in : x) map(to : x)
        {
            int v = x;
#pragma omp target device(ancestor : 1)
            step(v);
        }
#pragma omp taskwait
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(x, 27);
    EXPECT(steps, 4);
    EXPECT(order[0], 1);
    EXPECT(order[1], 2);
    EXPECT(order[2], 3);
    EXPECT(order[3], 27);
    return finish();
}
