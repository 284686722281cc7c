/* Hundreds of maps at the same time, and in one region.
   report: copies */
#include "check.h"

enum { N = 400 };

int main(void)
{
    int *p[N], sum = 0;
    for (int i = 0; i < N; i++) {
        int *q = p[i] = malloc(64 + i);
        q[0] = i;
#pragma omp target enter data map(to : q[0 : 16])
    }
    for (int i = 0; i < N; i++) {
        int *q = p[(i * 7) % N];
#pragma omp target
        q[0] += 1000;
    }
    for (int i = N - 1; i >= 0; i--) {
        int *q = p[i];
#pragma omp target exit data map(from : q[0 : 16])
        sum += q[0];
        free(q);
    }
    EXPECT(sum, N * (N - 1) / 2 + 1000 * N);
    int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
#pragma omp target map(tofrom : a, b, c, d, e, f, g, h, i, j, k, l)
    a = b + c + d + e + f + g + h + i + j + k + l;
    EXPECT(a, 77);
    return finish();
}
