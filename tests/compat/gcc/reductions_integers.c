/* Reductions of integers of every width, signed and unsigned, with every operator, by each kind of
   construct, over teams, threads and lanes, of several variables and of array sections.
   compare: host
   offload: -latomic */
#include <stdint.h>
#include "check.h"

enum { N = 300, K = 5 };

#pragma omp declare target
static long long value(int i)
{
    return (long long)(i * 2862933555777941757ULL + 3037000493ULL) >> (i & 15);
}
#pragma omp end declare target

#define DIRECTIVE(...) _Pragma(#__VA_ARGS__)

/* Wraps without overflow in every type, because it computes with unsigned numbers. */
#define UNSIGNED(T, u, x, op, y) ((T)((u)(x) op (u)(y)))

#define BODY(T, u)                                   \
    T v = (T)value(i);                               \
    sum = UNSIGNED(T, u, sum, +, v);                 \
    less = UNSIGNED(T, u, less, +, v);               \
    product = UNSIGNED(T, u, product, *, v | 1);     \
    both &= v | (T)0x11;                             \
    any |= v & (T)0x2c;                              \
    odd ^= v;                                        \
    all = all && i != N + 3;                         \
    some = some || v == 0;                           \
    least = v < least ? v : least;                   \
    most = v > most ? v : most;                      \
    bins[i % K] = UNSIGNED(T, u, bins[i % K], +, v); \
    masks[1 + i % 3] ^= v;

#define CLAUSES                                                                                       \
    reduction(+ : sum, bins) reduction(- : less) reduction(* : product) reduction(& : both)           \
        reduction(| : any) reduction(^ : odd) reduction(&& : all) reduction(|| : some)                \
        reduction(min : least) reduction(max : most) reduction(^ : masks [1:3])

#define SHOW(what)                                                                                      \
    printf("%s %lld %lld %lld %lld %lld %lld %d %d %lld %lld", what, (long long)sum, (long long)less,   \
           (long long)product, (long long)both, (long long)any, (long long)odd, (int)all, (int)some,    \
           (long long)least, (long long)most);                                                          \
    for (int i = 0; i < K; i++)                                                                         \
        printf(" %lld %lld", (long long)bins[i], (long long)masks[i]);                                  \
    puts("")

/* The construct, and what it finds. */
#define ONE(T, u, lowest, highest, ...)                                                        \
    do {                                                                                       \
        T sum = 3, less = 2, product = 5, both = (T)-1, any = 1, odd = 9, least = highest;     \
        T most = lowest, all = 4, some = 0, bins[K] = {1, 2, 3, 4, 5}, masks[K] = {6, 7, 8};   \
        DIRECTIVE(omp __VA_ARGS__ map(tofrom : sum, less, product, both, any, odd)             \
                  map(tofrom : all, some, least, most, bins, masks) CLAUSES)                   \
        for (int i = 0; i < N; i++) {                                                          \
            BODY(T, u)                                                                         \
        }                                                                                      \
        SHOW(#T " " #__VA_ARGS__);                                                             \
    } while (0)

#define EACH(...)                                                          \
    ONE(int8_t, unsigned, INT8_MIN, INT8_MAX, __VA_ARGS__);                \
    ONE(uint8_t, unsigned, 0, UINT8_MAX, __VA_ARGS__);                     \
    ONE(int16_t, unsigned, INT16_MIN, INT16_MAX, __VA_ARGS__);             \
    ONE(uint16_t, unsigned, 0, UINT16_MAX, __VA_ARGS__);                   \
    ONE(int32_t, unsigned, INT32_MIN, INT32_MAX, __VA_ARGS__);             \
    ONE(uint32_t, unsigned, 0, UINT32_MAX, __VA_ARGS__);                   \
    ONE(int64_t, uint64_t, INT64_MIN, INT64_MAX, __VA_ARGS__);             \
    ONE(uint64_t, uint64_t, 0, UINT64_MAX, __VA_ARGS__)

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    EACH(target parallel for num_threads(6));
    EACH(target teams distribute parallel for num_teams(3) thread_limit(4));
    ONE(int8_t, unsigned, INT8_MIN, INT8_MAX, target teams distribute num_teams(4));
    ONE(uint64_t, uint64_t, 0, UINT64_MAX, target teams distribute num_teams(4));

    /* Without arrays for simd, which has no reductions of them. loop only gets whole arrays,
       because GCC 14 ignores the start of a section. */
#define SIMD(T, u, lowest, highest, ...)                                                     \
    do {                                                                                     \
        T sum = 3, product = 5, both = (T)-1, any = 1, odd = 9, least = highest;             \
        T most = lowest;                                                                     \
        DIRECTIVE(omp __VA_ARGS__ map(tofrom : sum, product, both, any, odd, least, most)    \
                  reduction(+ : sum) reduction(* : product) reduction(& : both)              \
                  reduction(| : any) reduction(^ : odd) reduction(min : least)               \
                  reduction(max : most))                                                     \
        for (int i = 0; i < N; i++) {                                                        \
            T v = (T)value(i);                                                               \
            sum = UNSIGNED(T, u, sum, +, v);                                                 \
            product = UNSIGNED(T, u, product, *, v | 1);                                     \
            both &= v | (T)0x11;                                                             \
            any |= v & (T)0x2c;                                                              \
            odd ^= v;                                                                        \
            least = v < least ? v : least;                                                   \
            most = v > most ? v : most;                                                      \
        }                                                                                    \
        printf("%s %lld %lld %lld %lld %lld %lld %lld\n", #T " " #__VA_ARGS__,               \
               (long long)sum, (long long)product, (long long)both, (long long)any,          \
               (long long)odd, (long long)least, (long long)most);                           \
    } while (0)
    SIMD(int8_t, unsigned, INT8_MIN, INT8_MAX, target simd);
    SIMD(uint16_t, unsigned, 0, UINT16_MAX, target simd);
    SIMD(int32_t, unsigned, INT32_MIN, INT32_MAX, target simd);
    /* GCC 14 multiplies vectors of these wrongly on AMD GPUs. */
#ifndef COMPAT_AMD
    SIMD(uint64_t, uint64_t, 0, UINT64_MAX, target simd);
    SIMD(int64_t, uint64_t, INT64_MIN, INT64_MAX, target teams distribute parallel for simd);
#endif
    SIMD(int16_t, unsigned, INT16_MIN, INT16_MAX, target teams loop);
    SIMD(uint32_t, unsigned, 0, UINT32_MAX, target parallel loop num_threads(3));
    SIMD(uint8_t, unsigned, 0, UINT8_MAX, target parallel for simd num_threads(4));
    return finish();
}
