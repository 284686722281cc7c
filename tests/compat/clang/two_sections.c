/* Two sections of one array, far from each other. */
#include "check.h"

int main(void)
{
    static int a[1000];
    for (int i = 0; i < 1000; i++)
        a[i] = i;
#pragma omp target enter data map(to : a[0 : 100])
#pragma omp target enter data map(to : a[500 : 100])
#pragma omp target map(alloc : a[0 : 100])
    for (int i = 0; i < 100; i++)
        a[i] += 10000;
#pragma omp target map(alloc : a[500 : 100])
    for (int i = 500; i < 600; i++)
        a[i] += 20000;
#pragma omp target exit data map(from : a[500 : 100])
#pragma omp target exit data map(from : a[0 : 100])
    for (int i = 0; i < 1000; i++)
        EXPECT(a[i], i < 100 ? i + 10000 : i >= 500 && i < 600 ? i + 20000 : i);
    return finish();
}
