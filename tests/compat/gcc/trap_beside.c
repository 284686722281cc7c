/* A kernel that traps while one of its calls is served: the program ends with an error when
   that call has returned.
   ends: error
   output: libgomp: kernel `main._omp_fn.
   output: trap */
#include "check.h"
#pragma omp requires reverse_offload

static int begun;

static void take_long(void)
{
    struct timespec pause = {2, 0};
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    nanosleep(&pause, NULL);
}

static void wait_for_it(void)
{
    if (!arrived(&begun, 1))
        puts("nobody else calls");
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    if (faults)
        return finish();
#pragma omp target parallel for num_threads(2)
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
#pragma omp target device(ancestor : 1)
            take_long();
        } else {
#pragma omp target device(ancestor : 1)
            wait_for_it();
            __builtin_trap();
        }
    }
    puts("the program goes on after a trap");
    return 0;
}
