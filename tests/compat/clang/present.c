/* "present" for mapped data. */
#include "check.h"

int main(void)
{
    int a[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
#pragma omp target data map(tofrom : a)
    {
#pragma omp target map(present, tofrom : a)
        a[0] = 11;
#pragma omp target map(present, to : a[2 : 3])
        a[3] = 14;
#pragma omp target update from(present : a[0 : 4])
        EXPECT(a[0], 11);
        EXPECT(a[3], 14);
#pragma omp target map(present, alloc : a)
        a[9] = 20;
        EXPECT(a[9], 10);
    }
    EXPECT(a[9], 20);
    return finish();
}
