// Gaussian elimination with pivots: a region for each step, and decisions of one thread in
// between.
#include <math.h>
#include <stdio.h>

enum { N = 20 };

int main(void) {
    static double a[N][N + 1];
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= N; j++)
            a[i][j] = (i * 13 + j * 7) % 17 - 8 + (i == j) * 4;
    int swaps = 0;
    #pragma omp target map(tofrom : a, swaps)
    for (int k = 0; k < N; k++) {
        int pivot = k;
        for (int i = k + 1; i < N; i++)
            if (fabs(a[i][k]) > fabs(a[pivot][k]))
                pivot = i;
        swaps += pivot != k;
        #pragma omp parallel for
        for (int j = k; j <= N; j++) {
            double old = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = pivot == k ? a[pivot][j] : old;
        }
        #pragma omp parallel for
        for (int i = 0; i < N; i++)
            if (i != k) {
                double factor = a[i][k] / a[k][k];
                for (int j = k; j <= N; j++)
                    a[i][j] -= factor * a[k][j];
            }
    }
    double x[N], norm = 0;
    for (int i = 0; i < N; i++) {
        x[i] = a[i][N] / a[i][i];
        norm += x[i] * x[i];
    }
    printf("%d %.6f %.6f %.6f\n", swaps, x[0], x[N - 1], norm);
    return 0;
}
