/* A host function that ends the program with an exit status.
   ends: exit 3
   output: at exit */
#include "check.h"
#pragma omp requires reverse_offload

static void last_words(void)
{
    puts("at exit");
}

static void end(void)
{
    exit(3);
}

int main(void)
{
    int initial = -1;
    atexit(last_words);
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
    puts("the program goes on after exit()");
    return 1;
}
