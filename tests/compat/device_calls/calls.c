/* Every thread calls the host, with each kind of data: its own, mapped, and values. */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

enum { COUNT = 200 };

REVOFF_HOST_FUNCTION(combine)

/* args: two numbers (to), a number (tofrom), a value, a result (from). */
void combine(void **args)
{
    const int *two = args[0];
    int *both = args[1];
    int value = (int)(uintptr_t)args[2];
    long *result = args[3];

    *result = 1000L * two[0] + two[1] + value;
    *both += 1;
}

int main(void)
{
    int both[COUNT];
    long results[COUNT] = {0};
    unsigned statuses[COUNT] = {0};

    for (int i = 0; i < COUNT; i++)
        both[i] = i;
    REGION(map(tofrom : both) map(from : results, statuses))
    EACH(i, COUNT)
    {
        int two[2] = {(int)i, 7};
        void *addrs[] = {two, &both[i], (void *)(uintptr_t)i, &results[i]};
        size_t sizes[] = {sizeof two, sizeof both[i], sizeof i, sizeof results[i]};
        unsigned short kinds[] = {KIND(REVOFF_MAP_TO, 2), KIND(REVOFF_MAP_TOFROM, 2),
                                  KIND(REVOFF_MAP_FIRSTPRIVATE_INT, 2), KIND(REVOFF_MAP_FROM, 3)};
        statuses[i] = revoff_call(REVOFF_CALL(combine), 4, addrs, sizes, kinds);
    }
    for (int i = 0; i < COUNT; i++) {
        EXPECT(statuses[i], REVOFF_STATUS_DONE);
        EXPECT(results[i], 1001 * i + 7);
        EXPECT(both[i], i + 1);
    }
    return finish();
}
