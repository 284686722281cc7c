/* Sections of arrays: with lower bounds, of pointers, of rows, and without elements. */
#include "check.h"

enum { N = 40 };

int main(void)
{
    int v[N], table[4][6], *p;
    p = malloc(N * sizeof *p);
    for (int i = 0; i < N; i++)
        v[i] = p[i] = i;
    for (int i = 0; i < 24; i++)
        table[i / 6][i % 6] = i;
#pragma omp target map(tofrom : v[5 : 7])
    for (int i = 5; i < 12; i++)
        v[i] += 100;
#pragma omp target map(tofrom : p[10 : 20])
    for (int i = 10; i < 30; i++)
        p[i] += 1000;
#pragma omp target map(tofrom : table[1 : 2])
    for (int i = 1; i < 3; i++)
        for (int j = 0; j < 6; j++)
            table[i][j] = -table[i][j];
#pragma omp target map(tofrom : table[3][2 : 3])
    for (int j = 2; j < 5; j++)
        table[3][j] += 500;
    int *q = p + 20, last = 3;
#pragma omp target map(tofrom : q[-5 : last])
    for (int i = -5; i < -2; i++)
        q[i] += 7;
#pragma omp target map(tofrom : v[30 :])
    for (int i = 30; i < N; i++)
        v[i] = 0;
    for (int i = 0; i < N; i++) {
        EXPECT(v[i], i >= 30 ? 0 : i + (i >= 5 && i < 12 ? 100 : 0));
        EXPECT(p[i], i + (i >= 10 && i < 30 ? 1000 : 0) + (i >= 15 && i < 18 ? 7 : 0));
    }
    for (int i = 0; i < 24; i++) {
        int r = i / 6, c = i % 6, wanted = i;
        if (r == 1 || r == 2)
            wanted = -i;
        if (r == 3 && c >= 2 && c < 5)
            wanted += 500;
        EXPECT(table[r][c], wanted);
    }
    free(p);
    return finish();
}
