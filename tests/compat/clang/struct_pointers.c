/* Pointers in structures: the device's structure points to the device's data. */
#include "check.h"

struct vector {
    int n;
    double *data;
    struct vector *next;
};

int main(void)
{
    struct vector v = {10, malloc(10 * sizeof(double)), NULL};
    struct vector w = {5, malloc(5 * sizeof(double)), &v};
    double sum = -1;
    double *before = v.data;
    for (int i = 0; i < 10; i++)
        v.data[i] = i;
    for (int i = 0; i < 5; i++)
        w.data[i] = 100 * i;
#pragma omp target map(tofrom : v) map(tofrom : v.data[0 : 10])
    for (int i = 0; i < v.n; i++)
        v.data[i] *= 2;
    EXPECT(v.data == before, 1);
    EXPECT_REAL(v.data[9], 18);
#pragma omp target map(to : w.n, w.data[0 : 5]) map(from : sum)
    {
        sum = 0;
        for (int i = 0; i < w.n; i++)
            sum += w.data[i];
    }
    EXPECT_REAL(sum, 1000);
#pragma omp target data map(to : w) map(to : w.next[0 : 1]) map(tofrom : w.next->data[0 : 10])
    {
#pragma omp target
        for (int i = 0; i < 10; i++)
            w.next->data[i] += 1;
    }
    EXPECT_REAL(v.data[9], 19);
    EXPECT(w.next == &v, 1);
    free(v.data);
    free(w.data);
    return finish();
}
