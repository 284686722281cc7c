/* Several host threads, each with its own data and regions, and some shared data.
   report: free */
#include "check.h"

enum { THREADS = 6, ROUNDS = 30, N = 64 };

int main(void)
{
    int common[N], wrong = 0;
    for (int i = 0; i < N; i++)
        common[i] = i;
#pragma omp target enter data map(to : common)
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
    for (int round = 0; round < ROUNDS; round++) {
        int own[N], me = omp_get_thread_num();
        for (int i = 0; i < N; i++)
            own[i] = me;
#pragma omp target map(tofrom : own) map(to : common)
        for (int i = 0; i < N; i++)
            own[i] += common[i] + round;
        for (int i = 0; i < N; i++)
            wrong += own[i] != me + i + round;
    }
    EXPECT(wrong, 0);
    EXPECT(omp_target_is_present(common, omp_get_default_device()), 1);
#pragma omp target exit data map(delete : common)
    return finish();
}
