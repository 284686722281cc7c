/* A section that begins within mapped data and ends after it.
   ends: signal 6
   output: explicit extension not allowed: host address specified is
   output: (24 bytes), but device allocation maps to host at
   output: (16 bytes)
   output: failure of target construct while offloading is mandatory */
#include "check.h"

int main(void)
{
    int a[8] = {1, 2, 3, 4};
#pragma omp target enter data map(to : a[0 : 4])
#pragma omp target map(tofrom : a[2 : 6])
    a[2] = 5;
    return finish();
}
