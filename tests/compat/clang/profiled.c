/* A copy, a kernel and a copy back, and OpenMP's routines, for a trace. */
#include "check.h"

int main(void)
{
    int x = 1, y = 0, device = omp_get_default_device(), host = omp_get_initial_device();
#pragma omp target map(tofrom : x)
    x += 4;
    EXPECT(x, 5);
    int *p = omp_target_alloc(sizeof x, device);
    EXPECT(omp_target_memcpy(p, &x, sizeof x, 0, 0, device, host), 0);
    EXPECT(omp_target_memcpy(&y, p, sizeof y, 0, 0, host, device), 0);
    omp_target_free(p, device);
    EXPECT(y, 5);
    return finish();
}
