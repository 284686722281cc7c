/* Regions that exclude each other, more than libomp has threads: none of them may hold a lock
   that another one needs while no thread returns to it.
   only: emu
   ends: exit 0 */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

enum { COUNT = 90, ROUNDS = 4 };

int main(void)
{
    long sum = 0;
#pragma omp target data map(tofrom : sum)
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            REGION(nowait depend(mutexinoutset : sum) firstprivate(i) map(tofrom : sum))
            EACH(j, 1)
            {
                long before = sum;
                sum = before + i;
            }
        }
#pragma omp taskwait
    }
    EXPECT(sum, ROUNDS * COUNT * (COUNT - 1) / 2);
    return finish();
}
