/* A region of one thread ends the process. Other threads would not end: GCC's device code in them
   reports that the first is missing, and aborts.
   ends: exit 3 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

int main(void)
{
#pragma omp target thread_limit(1)
    exit(3);
    return finish();
}
