/* More copies wait for a region than libomp has threads. A region without dependences runs in
   spite of that: the first region ends only after it has run.
   only: emu
   ends: exit 0 */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

enum { COPIES = 12 };

REVOFF_HOST_FUNCTION(wait_for_other)
REVOFF_HOST_FUNCTION(arrive)

static int other;

void wait_for_other(void **args)
{
    (void)args;
    EXPECT(arrived(&other, 1), 1);
}

void arrive(void **args)
{
    (void)args;
    __atomic_store_n(&other, 1, __ATOMIC_SEQ_CST);
}

int main(void)
{
    int x = 0, z = 0, y[COPIES] = {0};
#pragma omp target data map(tofrom : x, y, z)
    {
        /* The first run, from which the library learns what its task does. */
        for (int i = 0; i < 2; i++) {
            REGION(nowait depend(out : x) map(tofrom : x))
            EACH(j, 1)
            {
                if (x == 1)
                    revoff_call(REVOFF_CALL(wait_for_other), 0, NULL, NULL, NULL);
                x += 1;
            }
            if (i == 0) {
#pragma omp taskwait
            }
        }
        for (int i = 0; i < COPIES; i++) {
#pragma omp target update from(y[i : 1]) nowait depend(in : x)
        }
        struct timespec pause = {0, 100000000};
        nanosleep(&pause, NULL);
        REGION(nowait depend(inout : z) map(tofrom : z))
        EACH(j, 1)
        {
            revoff_call(REVOFF_CALL(arrive), 0, NULL, NULL, NULL);
            z += 1;
        }
#pragma omp taskwait
    }
    EXPECT(x, 2);
    EXPECT(z, 1);
    return finish();
}
