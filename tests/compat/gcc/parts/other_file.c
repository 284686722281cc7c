/* Half of several_files.c. */
#include <omp.h>
#pragma omp requires reverse_offload

int other_calls;

static int compute(int what)
{
    other_calls++;
    return 10 * what + 3;
}

#pragma omp declare target
int other_ask(int what)
{
    int result = 0;
#pragma omp target device(ancestor : 1) map(from : result) firstprivate(what)
    result = compute(what);
    return result;
}
#pragma omp end declare target

int other_kernel(int *initial)
{
    int result = 0, on = -1;
#pragma omp target map(from : result, on)
    {
        on = omp_is_initial_device();
        result = other_ask(100);
    }
    *initial = on;
    return result;
}
