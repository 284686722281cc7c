/* A region fails while others wait for it on the device; the message names it.
   only: emu
   ends: signal 6
   output: main_l38
   output: fatal error 1: failure of target construct while offloading is mandatory */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

enum { LENGTH = 20 };

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
        /* The first runs, from which the library learns what the tasks do. */
        for (int count = 1; count <= LENGTH; count += LENGTH - 1) {
            for (int i = 0; i < count; i++) {
                REGION(nowait depend(inout : x) map(tofrom : x))
                EACH(j, 1)
                {
                    if (x == 2)
                        revoff_call(REVOFF_CALL(wait_for_all), 0, NULL, NULL, NULL);
                    x += 1;
                }
            }
            REGION(nowait depend(inout : x) map(tofrom : x))
            EACH(j, 1)
            if (x > 2)
                __builtin_trap();
            for (int i = 0; i < count; i++) {
                REGION(nowait depend(inout : x) map(tofrom : x))
                EACH(j, 1)
                x += 1;
            }
            if (count == 1) {
#pragma omp taskwait
            }
        }
        __atomic_store_n(&made, 1, __ATOMIC_SEQ_CST);
        /* This region copies, so it waits on the host for those before it. */
#pragma omp target update from(x) nowait depend(inout : x)
#pragma omp taskwait
    }
    return finish();
}
