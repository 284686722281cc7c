// `atomic`: each kind, by types and orders.
#include <stdint.h>
#include <stdio.h>

#define UPDATE(TYPE, FORMAT)                                                                 \
    do {                                                                                     \
        TYPE v[8] = {1, 1, 3, (TYPE)64};                                                     \
        int captured = 0;                                                                    \
        _Pragma("omp target parallel for map(tofrom : v, captured) num_threads(128)") \
        for (int i = 0; i < 60; i++) {                                                       \
            TYPE old;                                                                        \
            _Pragma("omp atomic")                                                            \
            v[0] += (TYPE)1;                                                                  \
            _Pragma("omp atomic update seq_cst")                                             \
            v[1] *= (TYPE)(i % 20 ? 1 : 3);                                               \
            _Pragma("omp atomic compare relaxed")                                            \
            if (v[2] < (TYPE)i) { v[2] = (TYPE)i; }                                          \
            _Pragma("omp atomic capture acq_rel")                                            \
            { old = v[3]; v[3] = v[3] - (TYPE)1; }                                  \
            _Pragma("omp atomic")                                                            \
            captured += (int)old;                                                            \
        }                                                                                    \
        printf(#TYPE " " FORMAT " " FORMAT " " FORMAT " " FORMAT " %d\n", v[0], v[1], v[2], v[3], \
               captured);                                                           \
    } while (0)

int main(void) {
    UPDATE(int, "%d");
    UPDATE(unsigned, "%u");
    UPDATE(long, "%ld");
    UPDATE(unsigned long, "%lu");
    UPDATE(short, "%d");
    UPDATE(signed char, "%d");
    UPDATE(float, "%g");
    UPDATE(double, "%g");
    unsigned bits[3] = {0, ~0u, 0x5555};
    int flag = 0, seen = 0, swapped = 7;
    #pragma omp target parallel for map(tofrom : bits, flag, seen, swapped)
    for (int i = 0; i < 32; i++) {
        #pragma omp atomic
        bits[0] |= 1u << i;
        #pragma omp atomic
        bits[1] &= ~(i % 2u << i);
        #pragma omp atomic
        bits[2] ^= 3u << i % 16;
        #pragma omp atomic write release
        flag = 5;
        int now;
        #pragma omp atomic read acquire
        now = flag;
        #pragma omp atomic
        seen += now;
        #pragma omp atomic compare capture
        { now = swapped; if (swapped == 7) { swapped = 8; } }
        #pragma omp atomic
        seen += now;
    }
    printf("%x %x %x %d %d %d\n", bits[0], bits[1], bits[2], flag, seen, swapped);
    return 0;
}
