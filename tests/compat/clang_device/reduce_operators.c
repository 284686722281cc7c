// Reductions by every operator, in `parallel`, in `teams` and in both.
#include <stdio.h>

#define N 300

#define DO(TEXT) _Pragma(#TEXT)
#define REDUCE(...)                                                                          \
    do {                                                                                     \
        int sum = 1, difference = 5, and = -1, or = 1, xor = 77, all = 1, any = 0;           \
        int least = 1000, most = -1000;                                                      \
        long product = 1;                                                                    \
        DO(__VA_ARGS__)                                                                      \
        for (int i = 0; i < N; i++) {                                                        \
            int x = (i * 7919 + 13) % 1009 - 500;                                            \
            sum += x;                                                                        \
            difference -= x;                                                                 \
            product *= i % 50 == 0 ? 3 : 1;                                                  \
            and &= ~(1 << i % 11);                                                           \
            or |= 1 << i % 19;                                                               \
            xor ^= x;                                                                        \
            all = all && x != 501;                                                           \
            any = any || x == 13 - 500;                                                      \
            least = x < least ? x : least;                                                   \
            most = x > most ? x : most;                                                      \
        }                                                                                    \
        printf("%d %d %ld %x %x %d %d %d %d %d\n", sum, difference, product, and, or, xor,   \
               all, any, least, most);                                                       \
    } while (0)

#define CLAUSES                                                                              \
    reduction(+ : sum) reduction(- : difference) reduction(* : product) reduction(& : and)   \
    reduction(| : or) reduction(^ : xor) reduction(&& : all) reduction(|| : any)             \
    reduction(min : least) reduction(max : most)

int main(void) {
    REDUCE(omp target parallel for CLAUSES);
    REDUCE(omp target teams distribute CLAUSES);
    REDUCE(omp target teams distribute parallel for CLAUSES);
    REDUCE(omp target teams distribute parallel for num_teams(3) thread_limit(64) CLAUSES);
    REDUCE(omp target teams distribute parallel for simd CLAUSES);
    return 0;
}
