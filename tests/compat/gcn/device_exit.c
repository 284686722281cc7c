/* A region ends the process.
   ends: exit 3 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

int main(void)
{
#pragma omp target
    exit(3);
    return finish();
}
