/* A program that does not require reverse offload, and has target regions. */
#include "check.h"

enum { N = 200 };

int main(void)
{
    int initial = -1;
    double a[N], sum = 0;
    for (int i = 0; i < N; i++)
        a[i] = i;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
#pragma omp target teams distribute parallel for num_teams(3) num_threads(4) map(tofrom : a, sum)  \
    reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        a[i] = 2 * a[i];
        sum += a[i];
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT_REAL(sum, N * (N - 1));
    EXPECT_REAL(a[N - 1], 2 * (N - 1));
    return finish();
}
