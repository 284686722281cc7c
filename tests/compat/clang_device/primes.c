// Primes by a sieve, and reductions that count twins and gaps.
#include <stdio.h>

enum { N = 2000 };

int main(void) {
    static unsigned char composite[N];
    int count = 0, twins = 0, gap = 0, last = 2;
    #pragma omp target data map(tofrom : composite)
    {
        for (int p = 2; p * p < N; p++) {
            #pragma omp target teams distribute parallel for
            for (int m = p * p; m < N; m += p)
                composite[m] = 1;
        }
        #pragma omp target teams distribute parallel for reduction(+ : count, twins)
        for (int i = 2; i < N - 2; i++) {
            count += !composite[i];
            twins += !composite[i] && !composite[i + 2];
        }
        #pragma omp target map(tofrom : gap, last)
        for (int i = 3; i < N; i++)
            if (!composite[i]) {
                gap = i - last > gap ? i - last : gap;
                last = i;
            }
    }
    printf("%d %d %d %d\n", count, twins, gap, last);
    return 0;
}
