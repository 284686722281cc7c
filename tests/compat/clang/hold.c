/* LLVM's ompx_hold: data stays mapped although other reference counts reach zero. */
#include "check.h"

int main(void)
{
    int a[4] = {1, 2, 3, 4}, device = omp_get_default_device();
#pragma omp target data map(ompx_hold, tofrom : a)
    {
#pragma omp target enter data map(to : a)
#pragma omp target exit data map(delete : a)
        EXPECT(omp_target_is_present(a, device), 1);
#pragma omp target map(ompx_hold, tofrom : a)
        a[0] = 10;
        EXPECT(a[0], 1);
    }
    EXPECT(omp_target_is_present(a, device), 0);
    EXPECT(a[0], 10);
    return finish();
}
