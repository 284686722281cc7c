/* simd loops that call functions of the mathematical library and of the program, with lanes
   that diverge and leave loops at different times.
   compare: host */
#include <math.h>
#include "check.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { N = 200 };

#pragma omp declare target
static NOINLINE double own(double x, int i)
{
    return x * 3 + i;
}

/* Lanes leave this loop one after the other. */
static NOINLINE int collatz(int n)
{
    int steps = 0;
    while (n > 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

static NOINLINE int twice(int n)
{
    return n % 3 ? collatz(n) + collatz(n + 1) : collatz(2 * n);
}

static NOINLINE int depth(int n)
{
    return n < 2 ? n : depth(n - 1) + depth(n - 2) % 7;
}

static NOINLINE double of_two(int i)
{
    return pow(1 + i * 0.01, 3.5) + fmod(i * 1.7, 3) + hypot(i, 4) + atan2(i, i - 50);
}

#pragma omp declare simd uniform(k) linear(i : 1) notinbranch
static NOINLINE int declared(int i, int k)
{
    return i * k + collatz(i + k);
}
#pragma omp end declare target

static int differ(double got, double wanted)
{
    return !(fabs(got - wanted) <= 1e-11 * fabs(wanted) + 1e-300) && !(isnan(got) && isnan(wanted));
}

static int differ_single(float got, float wanted)
{
    return !(fabsf(got - wanted) <= 2e-6f * fabsf(wanted) + 1e-30f) && !(isnan(got) && isnan(wanted));
}

/* One loop for each function, compared with the same loop on the host. GCC's vectors of sines and
   cosines for AMD GPUs have errors up to 3e-12, and more for floats beyond pi. */
#define ONE(f, x)                                                                     \
    do {                                                                              \
        double got[N];                                                                \
        _Pragma("omp target simd map(from : got)") for (int i = 0; i < N; i++)        \
            got[i] = f(x);                                                            \
        int wrong = 0;                                                                \
        for (int i = 0; i < N; i++)                                                   \
            wrong += differ(got[i], f(x));                                            \
        expect(__LINE__, #f, wrong, 0);                                               \
    } while (0)

#define ONE_SINGLE(f, x)                                                              \
    do {                                                                              \
        float got[N];                                                                 \
        _Pragma("omp target simd map(from : got)") for (int i = 0; i < N; i++)        \
            got[i] = f(x);                                                            \
        int wrong = 0;                                                                \
        for (int i = 0; i < N; i++)                                                   \
            wrong += differ_single(got[i], f(x));                                     \
        expect(__LINE__, #f, wrong, 0);                                               \
    } while (0)

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);

    ONE(sin, i * 0.37);
    ONE(cos, i * 0.37);
    ONE(tan, i * 0.37);
    ONE(asin, i * 0.0078125 - 0.75);
    ONE(acos, i * 0.0078125 - 0.75);
    ONE(atan, i - 100.0);
    ONE(sinh, i * 0.125 - 12);
    ONE(cosh, i * 0.125 - 12);
    ONE(tanh, i * 0.125 - 12);
    ONE(exp, i * 0.5 - 50);
    ONE(exp2, i * 0.5 - 50);
    ONE(expm1, i * 0.0078125 - 0.75);
    ONE(log, i + 0.5);
    ONE(log10, i + 0.5);
    ONE(log1p, i * 0.1);
    ONE(sqrt, i * 1.5);
    ONE(cbrt, i * 1.5 - 100);
    ONE(erf, i * 0.03125 - 3);
    ONE(tgamma, i * 0.0625 + 0.5);
    ONE(floor, i * 0.375 - 30);
    ONE(round, i * 0.25 - 25);
    ONE(fabs, i - 100.0);
    ONE_SINGLE(sinf, i * 0.015f);
    ONE_SINGLE(expf, i * 0.25f - 25);
    ONE_SINGLE(logf, i + 0.5f);
    ONE_SINGLE(sqrtf, i * 1.5f);
    ONE_SINGLE(atanf, i - 100.0f);

    /* Functions of two values, and functions with more than one result. */
    double two[N], parts[N], wholes[N];
    int exponents[N];
#pragma omp target parallel for simd map(from : two, parts, wholes, exponents)
    for (int i = 0; i < N; i++) {
        two[i] = of_two(i);
        parts[i] = modf(i * 0.7, &wholes[i]);
        parts[i] += frexp(i + 0.1, &exponents[i]) + ldexp(i, i % 5);
    }
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        double whole;
        int exponent;
        double part = modf(i * 0.7, &whole);
        part += frexp(i + 0.1, &exponent) + ldexp(i, i % 5);
        wrong += differ(two[i], of_two(i)) + differ(parts[i], part);
        wrong += exponents[i] != exponent || differ(wholes[i], whole);
    }
    EXPECT(wrong, 0);

    /* Divergent lanes: in branches, and in loops of different lengths. */
    int steps[N], tree[N], last = -1;
    long sum = 0;
    double branch[N];
#pragma omp target simd map(from : steps, tree, branch) map(tofrom : sum, last) reduction(+ : sum) \
    lastprivate(last)
    for (int i = 0; i < N; i++) {
        steps[i] = collatz(i) + twice(i);
        tree[i] = depth(i % 9);
        if (i % 2)
            branch[i] = own(sin(i * 0.0), i);
        else if (i % 3)
            branch[i] = own(i, steps[i]) + sqrt(i * (double)i);
        else
            branch[i] = floor(i * 0.5);
        sum += steps[i] + tree[i];
        last = twice(i);
    }
    for (int i = 0; i < N; i++)
        printf("%d %d %.17g\n", steps[i], tree[i], branch[i]);
    printf("%ld %d\n", sum, last);

    /* In threads of teams. */
    int all[N];
#pragma omp target teams distribute parallel for simd num_teams(2) thread_limit(4) map(from : all)
    for (int i = 0; i < N; i++)
        all[i] = i % 5 ? twice(i) : depth(i % 8) + collatz(i);
    for (int i = 0; i < N; i++)
        EXPECT(all[i], i % 5 ? twice(i) : depth(i % 8) + collatz(i));

    /* Called through a declare simd; a simd loop within a worksharing loop, and one after
       another. */
    int rows[8][32];
#pragma omp target parallel for num_threads(4) map(from : rows)
    for (int r = 0; r < 8; r++) {
#pragma omp simd
        for (int i = 0; i < 32; i++)
            rows[r][i] = declared(i, r);
        int before = rows[r][31];
#pragma omp simd safelen(8)
        for (int i = 0; i < 32; i++)
            rows[r][i] += collatz(before % 50 + i);
    }
    for (int r = 0; r < 8; r++)
        for (int i = 0; i < 32; i++)
            EXPECT(rows[r][i], declared(i, r) + collatz(declared(31, r) % 50 + i));

    /* The loop ends early, in the middle of a warp. */
    for (int n = 0; n < 40; n += 3) {
        int few[40] = {0};
#pragma omp target simd map(tofrom : few) firstprivate(n)
        for (int i = 0; i < n; i++)
            few[i] = twice(i + n);
        for (int i = 0; i < 40; i++)
            EXPECT(few[i], i < n ? twice(i + n) : 0);
    }
    return finish();
}
