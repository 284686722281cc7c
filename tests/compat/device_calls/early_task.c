/* A task that is created before an image is registered, and so before the library knows whether
   devices resolve dependences. They do so for later tasks.
   only: emu
   ends: exit 0
   env: LIBOMPTARGET_INFO=16
   output: dependences between target tasks: 1 resolved by devices, 0 by the host */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

REVOFF_HOST_FUNCTION(wait_for_all)

static int made, early;

void wait_for_all(void **args)
{
    (void)args;
    EXPECT(arrived(&made, 1), 1);
}

/* Runs before the constructor that registers the image, which has the same priority and is
   linked later. */
__attribute__((constructor(101))) static void before_images(void)
{
#pragma omp task shared(early)
    early = 1;
#pragma omp taskwait
}

int main(void)
{
    int x = 0;
    EXPECT(early, 1);
#pragma omp target data map(tofrom : x)
    {
        for (int i = 0; i < 3; i++) {
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
    EXPECT(x, 3);
    return finish();
}
