// `if` clauses of regions and of constructs in them; regions in branches and loops.
#include <stdio.h>

int main(void) {
    int sums[6] = {0};
    for (int on = 0; on < 2; on++) {
        int n = 0;
        #pragma omp target parallel for if (target : on) if (parallel : !on) reduction(+ : n)
        for (int i = 0; i < 50; i++)
            n += i;
        sums[on] = n;
        int m = 0;
        #pragma omp target map(tofrom : m) firstprivate(on)
        {
            #pragma omp parallel if (on)
            {
                #pragma omp for reduction(+ : m)
                for (int i = 0; i < 60; i++)
                    m += i * (on + 1);
            }
            if (m > 2000) {
                #pragma omp parallel for reduction(+ : m)
                for (int i = 0; i < 10; i++)
                    m += 1;
            }
        }
        sums[2 + on] = m;
    }
    for (int n = 1; n < 300; n *= 3) {
        int count = 0;
        #pragma omp target teams distribute parallel for reduction(+ : count) thread_limit(n > 64 ? 64 : n)
        for (int i = 0; i < n; i++)
            count++;
        sums[4] = sums[4] * 10 + (count == n);
        #pragma omp target teams distribute parallel for reduction(+ : count) num_teams(n) num_threads(33)
        for (int i = 0; i < n; i++)
            count++;
        sums[5] += count;
    }
    for (int i = 0; i < 6; i++)
        printf("%d%c", sums[i], i < 5 ? ' ' : '\n');
    return 0;
}
