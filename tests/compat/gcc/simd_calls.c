/* Loops whose iterations are lanes, which call functions: with different length in each lane,
   with several exits, recursive, of the mathematical library. GCC ends such a loop with stores
   to stack pointers that all lanes of a warp share, so lanes must leave it together. */
#include <math.h>
#include <stdlib.h>

#include "check.h"

enum { N = 300 };

#pragma omp declare target
__attribute__((noinline)) static double series(double x, int i)
{
    double sum = 0;
    for (int k = 0; k < i % 37 + 1; k++)
        sum += sin(x + k) * pow(1 + x, 0.25 * (k % 5));
    return sum;
}

__attribute__((noinline)) static float either(float x, int i)
{
    if (i & 1)
        return expf(-x) + logf(1 + x);
    return tanf(x) * (i % 3 ? 2 : cbrtf(x));
}

__attribute__((noinline)) static long fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
#pragma omp end declare target

static double values[N], teams[4][N];
static float singles[N];
static long whole[N];

/* 1 if they differ by more than rounding. */
static int differ(double a, double b, double by)
{
    return fabs(a - b) > by * (1 + fabs(b));
}

int main(void)
{
    double sum = 0, expected = 0;
    int wrong = 0;

    for (int i = 0; i < N; i++) {
        values[i] = i * 0.01;
        singles[i] = i * 0.003f;
    }
#pragma omp target map(tofrom : values, singles, whole, sum)
    {
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < N; i++) {
            values[i] = series(values[i], i);
            sum += values[i];
        }
#pragma omp simd
        for (int i = 0; i < N; i++) {
            singles[i] = either(singles[i], i);
            whole[i] = fibonacci(i % 13);
        }
    }
#pragma omp target teams distribute parallel for simd map(from : teams) num_teams(2)               \
    thread_limit(64)
    for (int i = 0; i < 4 * N; i++)
        teams[i / N][i % N] = series(i % N * 0.01, i % N) + i / N;

    for (int i = 0; i < N; i++) {
        double there = series(i * 0.01, i);
        expected += there;
        wrong += differ(values[i], there, 1e-9);
        wrong += differ(singles[i], either(i * 0.003f, i), 1e-5);
        wrong += whole[i] != fibonacci(i % 13);
        for (int team = 0; team < 4; team++)
            wrong += differ(teams[team][i], there + team, 1e-9);
    }
    wrong += differ(sum, expected, 1e-9);
    EXPECT(wrong, 0);
    return finish();
}
