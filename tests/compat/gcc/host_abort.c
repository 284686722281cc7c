/* A host function that aborts: the program ends with that signal, and the message names the
   region.
   ends: signal 6
   output: libgomp: the host function of the target region `main._omp_fn. */
#include "check.h"
#pragma omp requires reverse_offload

static void end(void)
{
    abort();
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    if (faults)
        return finish();
#pragma omp target
    {
#pragma omp target device(ancestor : 1)
        end();
    }
    puts("the program goes on after abort()");
    return 1;
}
