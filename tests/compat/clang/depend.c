/* Regions and host tasks, ordered by dependences.
   report: free */
#include "check.h"

int main(void)
{
    int x = 1, y = 0, log[4] = {0}, n = 0;
    for (int round = 0; round < 10; round++) {
        x = 1;
        n = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp target map(tofrom : x) depend(out : x) nowait
            x = 10;
#pragma omp task depend(inout : x) shared(x, log, n)
            {
                log[n++] = x;
                x += 5;
            }
#pragma omp target map(tofrom : x) depend(inout : x) nowait
            x *= 2;
#pragma omp target map(to : x) map(from : y) depend(in : x) depend(out : y) nowait
            y = x + 1;
#pragma omp task depend(in : x, y) shared(x, y, log, n)
            log[n++] = y;
#pragma omp taskwait
        }
        EXPECT(log[0], 10);
        EXPECT(x, 30);
        EXPECT(y, 31);
        EXPECT(log[1], 31);
    }
#pragma omp target enter data map(to : x) depend(out : x) nowait
#pragma omp target map(alloc : x) depend(inout : x) nowait
    x += 1;
#pragma omp target update from(x) depend(inout : x) nowait
#pragma omp target exit data map(delete : x) depend(inout : x) nowait
#pragma omp taskwait
    EXPECT(x, 31);
    return finish();
}
