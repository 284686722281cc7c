/* The same for a data region.
   ends: signal 6
   output: device mapping required by 'present' map type modifier does not exist for host address
   output: (24 bytes) */
#include "check.h"

int main(void)
{
    int a[6] = {1, 2, 3, 4};
#pragma omp target enter data map(present, to : a)
    return finish();
}
