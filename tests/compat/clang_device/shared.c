// Data that the threads of a team share: barriers, `single`, `masked`, exchange without
// `copyprivate`, and prefix sums over several steps.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int sums[128], singles = 0, masked = 0, reversed[128];
    #pragma omp target map(from : sums, reversed) map(tofrom : singles, masked)
    {
        int a[2][128];
        #pragma omp parallel num_threads(128)
        {
            #pragma omp for
            for (int i = 0; i < 128; i++)
                a[0][i] = i * i % 13;
            int from = 0;
            for (int step = 1; step < 128; step *= 2, from = !from) {
                #pragma omp for
                for (int i = 0; i < 128; i++)
                    a[!from][i] = a[from][i] + (i >= step ? a[from][i - step] : 0);
                #pragma omp single
                singles++;
                #pragma omp masked
                masked++;
            }
            #pragma omp barrier
            #pragma omp for nowait
            for (int i = 0; i < 128; i++)
                sums[i] = a[from][i];
            #pragma omp for
            for (int i = 0; i < 128; i++)
                reversed[i] = a[from][127 - i];
        }
    }
    long check = 0;
    for (int i = 0; i < 128; i++)
        check += sums[i] * (i + 1L) - reversed[i];
    printf("%ld %d %d %d\n", check, sums[127], singles, masked);
    return 0;
}
