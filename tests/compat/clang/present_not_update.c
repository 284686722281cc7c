/* The same for an update, which is called a motion.
   ends: signal 6
   output: device mapping required by 'present' motion modifier does not exist for host address
   output: (12 bytes) */
#include "check.h"

int main(void)
{
    int a[3] = {1, 2, 3};
#pragma omp target update to(present : a)
    return finish();
}
