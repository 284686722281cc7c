/* Device memory in the host's functions: omp_target_is_accessible and copies.
   since: 16 */
#include "check.h"
#include <string.h>
#pragma omp requires reverse_offload

enum { SIZE = 4096 };

#pragma omp declare target
static char variable[64];
#pragma omp end declare target

int main(void)
{
    int device = omp_get_default_device(), host = omp_get_initial_device(), initial = -1;
    char *memory = omp_target_alloc(SIZE, device), here[SIZE];
    char *there = NULL;
#pragma omp target map(from : initial, there)
    {
        initial = omp_is_initial_device();
        there = variable;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(omp_target_is_accessible(memory, SIZE, device), 1);
    EXPECT(omp_target_is_accessible(memory + SIZE - 1, 1, device), 1);
    EXPECT(omp_target_is_accessible(there, sizeof variable, device), 1);
    if (on_device()) {
        EXPECT(omp_target_is_accessible(memory + 1, SIZE, device), 0);
        EXPECT(omp_target_is_accessible(here, SIZE, device), 0);
    }
    memset(here, 1, SIZE);
    EXPECT(omp_target_memset(memory + 1, 7, SIZE - 2, device) == memory + 1, 1);
    EXPECT(omp_target_memcpy(here + 1, memory + 1, SIZE - 2, 0, 0, host, device), 0);
    for (int i = 0; i < SIZE; i++)
        EXPECT(here[i], i % (SIZE - 1) ? 7 : 1);
    omp_target_free(memory, device);
    return finish();
}
