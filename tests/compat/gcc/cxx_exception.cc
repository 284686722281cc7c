// An exception that no host function catches ends the program, as outside host regions.
// ends: signal 6
// output: terminate called
// output: libgomp: the host function of the target region `main._omp_fn.
#include <stdexcept>
#include "check.h"
#pragma omp requires reverse_offload

static void fail()
{
    throw std::runtime_error("nobody catches this");
}

int main()
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
        fail();
    }
    puts("the program goes on after an exception");
    return 1;
}
