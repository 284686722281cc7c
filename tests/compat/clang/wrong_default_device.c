/* A default device that does not exist.
   env: OMP_DEFAULT_DEVICE=99
   ends: signal 6
   output: device number '99' out of range, only */
#include "check.h"

int main(void)
{
    int a = 1;
#pragma omp target map(tofrom : a)
    a = 2;
    return finish();
}
