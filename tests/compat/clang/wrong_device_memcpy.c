/* A device that does not exist, in omp_target_memcpy.
   ends: signal 6
   output: device number '88' out of range, only */
#include "check.h"

int main(void)
{
    char a[8];
    omp_target_memcpy(a, a, 8, 0, 0, 88, omp_get_initial_device());
    return finish();
}
