/* A kernel requests a host function that does not exist.
   ends: error
   stock: any
   output: libgomp:
   output: function 0x1234 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

/* The function that the compiler calls for a host region. */
#pragma omp begin declare target
extern void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *,
                            unsigned, void **, void **);
#pragma omp end declare target

int main(void)
{
#pragma omp target
    GOMP_target_ext(-2, (void (*)(void *))0x1234, 0, NULL, NULL, NULL, 0, NULL, NULL);
    return finish();
}
