/* A call of a function that no image has: the program ends with an error that names the kernel
   and the function.
   ends: error
   output: libgomp: kernel `main._omp_fn.
   output: function 0x1234
   output: it has begun */
#include "check.h"
#include <stddef.h>
#pragma omp requires reverse_offload

static void called(void)
{
}

/* The function that the compiler calls for a host region. A program could misuse it with a
   pointer to something else, or to a function of a library that was unloaded. */
#pragma omp declare target
extern void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *,
                            unsigned, void **, void **);
#pragma omp end declare target

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
        called();
    }
    EXPECT_ON_DEVICE(initial);
    if (faults)
        return finish();
    puts("it has begun");
    fflush(stdout);
#pragma omp target
    GOMP_target_ext(-2, (void (*)(void *))0x1234, 0, NULL, NULL, NULL, 0, NULL, NULL);
    puts("the program goes on without it");
    return 0;
}
