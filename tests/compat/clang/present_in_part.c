/* "present" for more than the mapped data.
   ends: signal 6
   output: explicit extension not allowed: host address specified is
   output: (32 bytes), but device allocation maps to host at
   output: device mapping required by 'present' map type modifier does not exist */
#include "check.h"

int main(void)
{
    int a[8] = {1, 2, 3, 4};
#pragma omp target enter data map(to : a[0 : 4])
#pragma omp target map(present, tofrom : a[0 : 8])
    a[0] = 5;
    return finish();
}
