/* nowait regions, with one wait at the end.
   report: free */
#include "check.h"

enum { N = 50 };

int main(void)
{
    int a[N][16], x = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 16; j++)
            a[i][j] = i;
    for (int i = 0; i < N; i++) {
        int *row = a[i];
#pragma omp target map(tofrom : row[0 : 16]) nowait
        for (int j = 0; j < 16; j++)
            row[j] = row[j] * 2 + j;
    }
#pragma omp taskwait
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 16; j++)
            EXPECT(a[i][j], 2 * i + j);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < N; i++) {
        int *row = a[i];
#pragma omp target map(tofrom : row[0 : 16]) nowait
        row[0] = -i;
    }
    for (int i = 0; i < N; i++)
        x += a[i][0];
    EXPECT(x, -N * (N - 1) / 2);
    return finish();
}
