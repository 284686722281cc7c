/* The same for the end of data.
   ends: signal 6
   output: device mapping required by 'present' map type modifier does not exist for host address
   output: (8 bytes) */
#include "check.h"

int main(void)
{
    int a[2] = {1, 2};
#pragma omp target exit data map(present, from : a)
    return finish();
}
