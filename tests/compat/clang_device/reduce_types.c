// Sums, minima and maxima of every type, in `parallel` and in `teams`.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REDUCE(TYPE, FORMAT)                                                                 \
    do {                                                                                     \
        TYPE sum = 1, least = 100, most = 1;                                                 \
        _Pragma("omp target parallel for reduction(+ : sum) reduction(min : least) reduction(max : most)")                                                   \
        for (int i = 0; i < 100; i++) {                                                      \
            TYPE x = (TYPE)(i * 37 % 101);                                                   \
            sum += (TYPE)((long)x % 5);                                                            \
            least = x < least ? x : least;                                                   \
            most = x > most ? x : most;                                                      \
        }                                                                                    \
        TYPE total = 2;                                                                      \
        _Pragma("omp target teams distribute parallel for reduction(+ : total)")             \
        for (int i = 0; i < 1000; i++)                                                       \
            total += (TYPE)(i % 3);                                                          \
        printf(#TYPE " " FORMAT " " FORMAT " " FORMAT " " FORMAT "\n", sum, least, most, total); \
    } while (0)

int main(void) {
    REDUCE(char, "%d");
    REDUCE(signed char, "%d");
    REDUCE(unsigned char, "%d");
    REDUCE(short, "%d");
    REDUCE(unsigned short, "%d");
    REDUCE(int, "%d");
    REDUCE(unsigned, "%u");
    REDUCE(long, "%ld");
    REDUCE(unsigned long, "%lu");
    REDUCE(long long, "%lld");
    float f = 0.5f, most = -1;
    double d = 0.25, product = 1;
    #pragma omp target teams distribute parallel for reduction(+ : f, d) reduction(max : most) reduction(* : product)
    for (int i = 0; i < 512; i++) {
        f += (float)i * 0.5f;
        d += i * 0.125;
        most = (float)i > most ? (float)i : most;
        product *= i % 64 ? 1 : 1.5;
    }
    bool any = false, all = true;
    #pragma omp target teams distribute parallel for reduction(|| : any) reduction(&& : all)
    for (int i = 0; i < 512; i++) {
        any = any || i == 400;
        all = all && i != 3;
    }
    printf("%g %g %g %g %d %d\n", f, d, most, product, any, all);
    return 0;
}
