/* Reductions of real, complex and logical values, of arrays, and declared reductions; values
   are exact in any order. Reductions of tasks.
   compare: host
   offload: -latomic */
#include <complex.h>
#include <float.h>
#include <stdbool.h>
#include "check.h"

enum { N = 256, K = 6 };

#define DIRECTIVE(...) _Pragma(#__VA_ARGS__)

struct range {
    int least, most;
    double sum;
    short count;
};

struct big {
    long word[9];
};

#pragma omp declare target
static void widen(struct range *to, const struct range *by)
{
    to->least = by->least < to->least ? by->least : to->least;
    to->most = by->most > to->most ? by->most : to->most;
    to->sum += by->sum;
    to->count += by->count;
}

static void start(struct big *it)
{
    for (int k = 0; k < 9; k++)
        it->word[k] = k == 8;
}

static void merge(struct big *to, const struct big *by)
{
    for (int k = 0; k < 8; k++)
        to->word[k] += by->word[k];
    to->word[8] = to->word[8] * by->word[8] % 10007;
}
#pragma omp end declare target

#pragma omp declare reduction(widen : struct range : widen(&omp_out, &omp_in)) \
    initializer(omp_priv = {1000000, -1000000, 0, 0})
#pragma omp declare reduction(merge : struct big : merge(&omp_out, &omp_in)) initializer(start(&omp_priv))
#pragma omp declare reduction(furthest : int, long : omp_out = \
    (omp_in < 0 ? -omp_in : omp_in) > (omp_out < 0 ? -omp_out : omp_out) ? omp_in : omp_out) initializer(omp_priv = 0)

#define REAL(T, most_of, ...)                                                                    \
    do {                                                                                         \
        T sum = 0.5, less = 1, product = 1, least = most_of, most = -most_of, sums[K] = {0};     \
        DIRECTIVE(omp __VA_ARGS__ map(tofrom : sum, less, product, least, most, sums)            \
                  reduction(+ : sum, sums) reduction(- : less) reduction(* : product)            \
                  reduction(min : least) reduction(max : most))                                  \
        for (int i = 0; i < N; i++) {                                                            \
            T v = (i * 37 % N - 100) * (T)0.25;                                                  \
            sum += v;                                                                            \
            less -= v;                                                                           \
            product *= i % 32 == 5 ? 2 : i % 64 == 9 ? (T)-0.5 : 1;                              \
            least = v < least ? v : least;                                                       \
            most = v > most ? v : most;                                                          \
            sums[i % K] += v;                                                                    \
        }                                                                                        \
        printf("%s %g %g %g %g %g\n", #T " " #__VA_ARGS__, (double)sum, (double)less,            \
               (double)product, (double)least, (double)most);                                    \
        for (int i = 0; i < K; i++)                                                              \
            printf("%g ", (double)sums[i]);                                                      \
        puts("");                                                                                \
    } while (0)

#define COMPLEX(T, ...)                                                                       \
    do {                                                                                      \
        T sum = 1 + 2 * I, product = 1;                                                       \
        DIRECTIVE(omp __VA_ARGS__ map(tofrom : sum, product) reduction(+ : sum) reduction(* : product)) \
        for (int i = 0; i < N; i++) {                                                         \
            sum += i * (T)0.5 - (N - i) * (T)I;                                               \
            product *= i % 16 == 3 ? (T)I : i % 64 == 7 ? 1 + (T)I : 1;                       \
        }                                                                                     \
        printf("%s %g %g %g %g\n", #T " " #__VA_ARGS__, (double)creal(sum), (double)cimag(sum), \
               creal(product) + 0.0, cimag(product) + 0.0); /* no -0 */                              \
    } while (0)

#define LOGICAL(T, ...)                                                                       \
    do {                                                                                      \
        T all = 1, broken = 1, some = 0, none = 0;                                            \
        DIRECTIVE(omp __VA_ARGS__ map(tofrom : all, broken, some, none)                       \
                  reduction(&& : all, broken) reduction(|| : some, none))                     \
        for (int i = 0; i < N; i++) {                                                         \
            all = all && i >= 0;                                                              \
            broken = broken && i != 200;                                                      \
            some = some || i == 133;                                                          \
            none = none || i > N;                                                             \
        }                                                                                     \
        printf("%s %d %d %d %d\n", #T " " #__VA_ARGS__, (int)all, (int)broken, (int)some, (int)none); \
    } while (0)

#define OWN(...)                                                                              \
    do {                                                                                      \
        struct range all = {5, 6, 0.5, 1};                                                    \
        struct big big;                                                                       \
        int far = 1;                                                                          \
        long further[3] = {1, -2, 3};                                                         \
        start(&big);                                                                          \
        DIRECTIVE(omp __VA_ARGS__ map(tofrom : all, big, far, further) reduction(widen : all) \
                  reduction(merge : big) reduction(furthest : far, further))                  \
        for (int i = 0; i < N; i++) {                                                         \
            struct range one = {i * 37 % N - 90, i * 41 % N - 80, i * 0.5, 1};                \
            widen(&all, &one);                                                                \
            for (int k = 0; k < 8; k++)                                                       \
                big.word[k] += i * k;                                                         \
            big.word[8] = big.word[8] * (i + 1) % 10007;                                      \
            int to = i * 37 % N - 200;                                                        \
            far = (to < 0 ? -to : to) > (far < 0 ? -far : far) ? to : far;                    \
            long on = i % 3 ? to : 0, is = further[i % 3];                                    \
            further[i % 3] = (on < 0 ? -on : on) > (is < 0 ? -is : is) ? on : is;             \
        }                                                                                     \
        printf("%s %d %d %g %d %d", #__VA_ARGS__, all.least, all.most, all.sum, all.count, far); \
        for (int k = 0; k < 9; k++)                                                           \
            printf(" %ld", big.word[k]);                                                      \
        printf(" %ld %ld %ld\n", further[0], further[1], further[2]);                         \
    } while (0)

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);

    REAL(float, FLT_MAX, target parallel for num_threads(5));
    REAL(double, DBL_MAX, target parallel for num_threads(5));
    REAL(float, FLT_MAX, target teams distribute parallel for num_teams(3) thread_limit(4));
    REAL(double, DBL_MAX, target teams distribute parallel for num_teams(3) thread_limit(4));
    REAL(double, DBL_MAX, target teams distribute num_teams(3));
    COMPLEX(float _Complex, target parallel for num_threads(5));
    COMPLEX(double _Complex, target parallel for num_threads(5));
    COMPLEX(float _Complex, target teams distribute parallel for num_teams(3) thread_limit(4));
    COMPLEX(double _Complex, target teams distribute parallel for num_teams(3) thread_limit(4));
    LOGICAL(bool, target parallel for num_threads(5));
    LOGICAL(bool, target teams distribute parallel for num_teams(3) thread_limit(4));
    LOGICAL(char, target simd);
    LOGICAL(double, target parallel for simd num_threads(3));
    LOGICAL(long, target teams distribute parallel for simd num_teams(3) thread_limit(4));
    OWN(target parallel for num_threads(6));
    OWN(target teams distribute parallel for num_teams(2) thread_limit(6));
    OWN(target teams distribute num_teams(4));

    /* Lanes of simd, which reduce arrays as well. */
    float sum = 1, least = FLT_MAX;
    double sums[K] = {1, 2, 3};
    struct range all = {5, 6, 0.5, 1};
#pragma omp target simd map(tofrom : sum, least, all) reduction(+ : sum) reduction(min : least) reduction(widen : all)
    for (int i = 0; i < N; i++) {
        struct range one = {i * 37 % N - 90, i * 41 % N - 80, i * 0.5, 1};
        sum += i * 0.25f;
        least = i * 37 % N < least ? i * 37 % N : least;
        widen(&all, &one);
    }
    printf("%g %g %d %d %g %d\n", sum, least, all.least, all.most, all.sum, all.count);
    /* A section of an array whose bounds are unknown at compile time; a section through a
       pointer. */
    int from = initial >= 0 ? 1 : 2, count = initial >= 0 ? 4 : 3;
    double *second = sums;
#pragma omp target parallel for num_threads(4) map(tofrom : sums) reduction(+ : sums[from : count])
    for (int i = 0; i < N; i++)
        sums[from + i % count] += i;
#pragma omp target teams distribute parallel for num_teams(2) map(tofrom : second[0 : K]) reduction(max : second[0 : 2])
    for (int i = 0; i < N; i++)
        second[i % 2] = second[i % 2] < i * 37 % 1000 ? i * 37 % 1000 : second[i % 2];
    for (int i = 0; i < K; i++)
        printf("%g ", sums[i]);
    puts("");
    /* Reductions in nested parallelism, in scope and in sections. */
    int nested = 0, scoped = 0, parts = 0;
#pragma omp target teams num_teams(3) reduction(+ : nested) map(tofrom : nested)
#pragma omp parallel num_threads(4) reduction(+ : nested)
    nested += 10;
#pragma omp target parallel num_threads(4) map(tofrom : scoped, parts)
    {
#pragma omp scope reduction(+ : scoped)
        scoped += 5;
#pragma omp sections reduction(* : parts)
        {
            parts = 3;
#pragma omp section
            parts = 4;
        }
    }
    EXPECT(nested, 120);
    EXPECT(scoped, 20);
    EXPECT(parts, 0);
    /* The reduction of a target region, and of a host task. */
    int outer = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : outer)
    {
        for (int k = 0; k < 3; k++)
#pragma omp target in_reduction(+ : outer)
            outer += k + 1;
    }
    printf("%d\n", outer);
    return finish();
}
