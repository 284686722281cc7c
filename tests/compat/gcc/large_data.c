/* More data than any intermediate buffer holds: 4 MB in each direction. */
#include <string.h>
#include "check.h"
#pragma omp requires reverse_offload

enum { N = 1 << 20 };

static void look_and_fill(unsigned *v)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < N; i++) {
        wrong += v[i] != (i % 4096 ? i : ~i);
        v[i] = 3 * i;
    }
    EXPECT(wrong, 0);
}

int main(void)
{
    int initial = -1, device = omp_get_default_device(), host = omp_get_initial_device();
    unsigned *here = malloc(N * sizeof *here);
    unsigned *there = omp_target_alloc(N * sizeof *there, device);
    for (unsigned i = 0; i < N; i++)
        here[i] = i;
    EXPECT(omp_target_memcpy(there, here, N * sizeof *here, 0, 0, device, host), 0);
#pragma omp target is_device_ptr(there) map(from : initial)
    {
        initial = omp_is_initial_device();
        for (unsigned i = 0; i < N; i += 4096)
            there[i] = ~i;
#pragma omp target device(ancestor : 1) map(tofrom : there[:N])
        look_and_fill(there);
        for (unsigned i = 0; i < N; i += 4096)
            there[i]++;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(omp_target_memcpy(here, there, N * sizeof *here, 0, 0, host, device), 0);
    unsigned wrong = 0;
    for (unsigned i = 0; i < N; i++)
        wrong += here[i] != 3 * i + (i % 4096 == 0);
    EXPECT(wrong, 0);
    omp_target_free(there, device);
    free(here);
    return finish();
}
