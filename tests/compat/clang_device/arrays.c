// Arrays of variable length, of several dimensions, and large ones of each thread.
#include <stdio.h>

int main(void) {
    int n = 17, m = 9, sums[3] = {0};
    double a[n][m], b[m][n];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] = i * m + j;
    #pragma omp target teams distribute parallel for collapse(2) map(to : a) map(from : b)
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            b[j][i] = a[i][j] * 2;
    double check = 0;
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            check += b[j][i] * (i + 1) - j;
    #pragma omp target parallel for reduction(+ : sums)
    for (int i = 0; i < 40; i++) {
        int mine[64], local[3][5];
        for (int k = 0; k < 64; k++)
            mine[k] = (k * 7 + i) % 64;
        for (int k = 0; k < 15; k++)
            local[k / 5][k % 5] = mine[mine[k]];
        for (int k = 0; k < 15; k++)
            sums[k % 3] += local[k % 3][k % 5] * (mine[i] + 1);
    }
    printf("%g %d %d %d\n", check, sums[0], sums[1], sums[2]);
    return 0;
}
