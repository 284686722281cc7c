/* A region aborts.
   ends: signal 6 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

int main(void)
{
#pragma omp target
    abort();
    return finish();
}
