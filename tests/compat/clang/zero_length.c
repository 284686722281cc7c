/* Sections without elements: a pointer to mapped data is translated. */
#include "check.h"

int main(void)
{
    int a[10] = {0}, *p = a + 4, *nothing = NULL, got = -1, n = 0;
#pragma omp target data map(tofrom : a)
    {
#pragma omp target map(alloc : p[0 : 0])
        p[1] = 51;
#pragma omp target
        p[2] = 52;
#pragma omp target map(to : p[0 : n])
        p[3] = 53;
    }
    EXPECT(a[5], 51);
    EXPECT(a[6], 52);
    EXPECT(a[7], 53);
#pragma omp target map(to : nothing[0 : 0]) map(from : got)
    got = nothing == NULL;
    EXPECT(got, 1);
#pragma omp target enter data map(to : a[0 : n])
    EXPECT(omp_target_is_present(a, omp_get_default_device()), 0);
#pragma omp target exit data map(from : a[0 : n])
    return finish();
}
