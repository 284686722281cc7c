/* A device that does not exist.
   ends: signal 6
   output: device number '77' out of range, only */
#include "check.h"

int main(void)
{
    int a = 1;
#pragma omp target map(tofrom : a) device(77)
    a = 2;
    return finish();
}
