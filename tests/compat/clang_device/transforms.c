// Fast transforms by Walsh and Haar in a team's memory, with barriers between the steps.
#include <stdio.h>

enum { N = 128 };

int main(void) {
    int walsh[3][N], haar[3][N];
    #pragma omp target teams distribute num_teams(3) map(from : walsh, haar)
    for (int set = 0; set < 3; set++) {
        int a[N], b[N];
        #pragma omp parallel num_threads(64)
        {
            #pragma omp for
            for (int i = 0; i < N; i++)
                a[i] = (i * (set + 3)) % 17;
            #pragma omp for
            for (int i = 0; i < N; i++)
                b[i] = a[i];
            for (int step = 1; step < N; step *= 2) {
                #pragma omp for
                for (int i = 0; i < N / 2; i++) {
                    int at = i / step * step * 2 + i % step, x = a[at], y = a[at + step];
                    a[at] = x + y;
                    a[at + step] = x - y;
                }
            }
            #pragma omp for
            for (int i = 0; i < N; i++)
                walsh[set][i] = a[i];
            #pragma omp single
            for (int n = N; n > 1; n /= 2)
                for (int i = 0; i < n / 2; i++) {
                    haar[set][n / 2 + i] = b[2 * i] - b[2 * i + 1];
                    b[i] = b[2 * i] + b[2 * i + 1];
                }
            #pragma omp masked
            haar[set][0] = b[0];
        }
    }
    long sums[2] = {0, 0};
    for (int i = 0; i < 3 * N; i++) {
        sums[0] += walsh[i / N][i % N] * (i + 1L);
        sums[1] += haar[i / N][i % N] * (i + 1L);
    }
    printf("%ld %ld\n", sums[0], sums[1]);
    return 0;
}
