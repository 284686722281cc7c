/* A device that does not exist, in omp_target_free.
   ends: signal 6
   output: device number '88' out of range, only */
#include "check.h"

int main(void)
{
    char a[8];
    omp_target_free(a, 88);
    return finish();
}
