/* The device's addresses on the host: use_device_ptr, use_device_addr, is_device_ptr and
   has_device_addr. */
#include "check.h"

int main(void)
{
    int a[16], *p = malloc(16 * sizeof *p), x = 5, device = omp_get_default_device();
    for (int i = 0; i < 16; i++)
        a[i] = p[i] = i;
#pragma omp target data map(tofrom : a, p[0 : 16], x)
    {
        int *host = p, *there = NULL, *ax = NULL, *aa = NULL;
#pragma omp target data use_device_ptr(p) use_device_addr(x, a)
        {
            there = p;
            ax = &x;
            aa = a;
#pragma omp target is_device_ptr(p) has_device_addr(x)
            p[3] = x + 100;
        }
        EXPECT(p == host, 1);
        EXPECT(there == omp_get_mapped_ptr(p, device), 1);
        EXPECT(ax == omp_get_mapped_ptr(&x, device), 1);
        EXPECT(aa == omp_get_mapped_ptr(a, device), 1);
        EXPECT(there != host, on_device());
#pragma omp target is_device_ptr(there)
        there[4] = -4;
#pragma omp target data map(present, alloc : p[0 : 16]) use_device_ptr(p)
        {
#pragma omp target is_device_ptr(p)
            p[5] = -5;
        }
    }
    EXPECT(p[3], 105);
    EXPECT(p[4], -4);
    EXPECT(p[5], -5);
    free(p);
    return finish();
}
