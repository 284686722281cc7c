/* Thousands of regions in chains, and a host task after each chain.
   report: free */
#include "check.h"
#include "parts/one_thread.h"

enum { ROWS = 20, LENGTH = 500 };

int main(void)
{
    int x[ROWS] = {0}, done = 0;
#pragma omp target data map(tofrom : x)
    {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < LENGTH; i++)
            for (int row = 0; row < ROWS; row++) {
                TARGET(nowait depend(inout : x[row]) map(tofrom : x) firstprivate(row))
                x[row] += 1;
                if (i % 100 == 99) {
#pragma omp task depend(inout : x[row]) shared(done)
                    {
#pragma omp atomic
                        done++;
                    }
                }
            }
    }
    for (int row = 0; row < ROWS; row++)
        EXPECT(x[row], LENGTH);
    EXPECT(done, ROWS * LENGTH / 100);
    return finish();
}
