/* A section that begins before mapped data.
   ends: signal 6
   output: explicit extension not allowed: host address specified is
   output: (32 bytes), but device allocation maps to host at */
#include "check.h"

int main(void)
{
    int a[8] = {1, 2, 3, 4};
#pragma omp target enter data map(to : a[2 : 4])
#pragma omp target enter data map(to : a[0 : 8])
    return finish();
}
