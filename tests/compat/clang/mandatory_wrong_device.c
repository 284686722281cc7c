/* Mandatory offloading to a device that does not exist.
   env: OMP_TARGET_OFFLOAD=MANDATORY
   ends: signal 6
   output: device number '1234' out of range, only */
#include "check.h"

int main(void)
{
    int a = 1;
#pragma omp target enter data map(to : a) device(1234)
    return finish();
}
