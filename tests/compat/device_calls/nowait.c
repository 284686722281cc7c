/* nowait regions, which wait for each other on the host. */
#include <stdatomic.h>

#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

enum { REGIONS = 4, COUNT = 64 };

REVOFF_HOST_FUNCTION(count_one)

static atomic_int calls;

void count_one(void **args)
{
    int *number = args[0];

    *number += 1;
    calls++;
}

int main(void)
{
    int numbers[REGIONS][COUNT] = {{0}};

    for (int r = 0; r < REGIONS; r++) {
        int *mine = numbers[r];
        REGION(nowait map(tofrom : mine[0 : COUNT]))
        EACH(i, COUNT)
        {
            void *addrs[] = {&mine[i]};
            size_t sizes[] = {sizeof mine[i]};
            unsigned short kinds[] = {KIND(REVOFF_MAP_TOFROM, 2)};
            revoff_call(REVOFF_CALL(count_one), 1, addrs, sizes, kinds);
        }
    }
#pragma omp taskwait
    EXPECT(calls, REGIONS * COUNT);
    for (int r = 0; r < REGIONS; r++)
        for (int i = 0; i < COUNT; i++)
            EXPECT(numbers[r][i], 1);
    return finish();
}
