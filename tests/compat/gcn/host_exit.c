/* A host region ends the process, while its kernel waits for it.
   ends: exit 3
   stock: exit 1 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

static void leave(void)
{
    exit(3);
}

int main(void)
{
#pragma omp target
    {
#pragma omp target device(ancestor : 1)
        leave();
    }
    return finish();
}
