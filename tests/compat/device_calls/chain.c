/* Regions that depend on each other wait only on the device: the first one ends after all of
   them have been created. Another one runs before, because the library learns what a region
   does only when it runs.
   only: emu
   ends: exit 0
   env: LIBOMPTARGET_INFO=16
   output: dependences between target tasks: 199 resolved by devices, 0 by the host */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

enum { LENGTH = 200 };

REVOFF_HOST_FUNCTION(wait_for_all)

static int made;

void wait_for_all(void **args)
{
    (void)args;
    EXPECT(arrived(&made, 1), 1);
}

int main(void)
{
    int x = 0;
#pragma omp target data map(tofrom : x)
    {
        for (int i = 0; i <= LENGTH; i++) {
            REGION(nowait depend(inout : x) map(tofrom : x))
            EACH(j, 1)
            {
                if (x == 1)
                    revoff_call(REVOFF_CALL(wait_for_all), 0, NULL, NULL, NULL);
                x += 1;
            }
            if (i == 0) {
#pragma omp taskwait
            }
        }
        __atomic_store_n(&made, 1, __ATOMIC_SEQ_CST);
#pragma omp taskwait
    }
    EXPECT(x, LENGTH + 1);
    return finish();
}
