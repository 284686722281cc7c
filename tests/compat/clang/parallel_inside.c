/* Parallel regions, critical sections, barriers and atomics in a region. */
#include "check.h"

int main(void)
{
    int count = 0, locked = 0, threads = 0, ordered = 0;
#pragma omp target map(tofrom : count, locked, threads, ordered)
    {
#pragma omp parallel num_threads(4)
        {
#pragma omp atomic
            count++;
#pragma omp barrier
#pragma omp critical
            locked += 2;
#pragma omp single
            threads = omp_get_num_threads();
        }
#pragma omp parallel for reduction(+ : ordered)
        for (int i = 0; i < 100; i++)
            ordered += i;
    }
    EXPECT(count, threads);
    EXPECT(locked, 2 * threads);
    EXPECT(ordered, 4950);
    return finish();
}
