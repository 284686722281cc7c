/* "present" for data that is not mapped: an error that names address and size.
   ends: signal 6
   output: device mapping required by 'present' map type modifier does not exist for host address
   output: (16 bytes) */
#include "check.h"

int main(void)
{
    int a[4] = {1, 2, 3, 4};
#pragma omp target map(present, tofrom : a)
    a[0] = 5;
    return finish();
}
