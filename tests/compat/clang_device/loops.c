// Loop variables of every type, in every direction, with all steps, and without iterations.
#include <stdint.h>
#include <stdio.h>

#define LOOP(TYPE, FROM, TEST, STEP)                                                        \
    do {                                                                                    \
        long sum = 0, count = 0;                                                            \
        _Pragma("omp target teams distribute parallel for reduction(+ : sum, count)")       \
        for (TYPE i = FROM; i TEST; i += STEP) {                                            \
            sum += (long)i;                                                                 \
            count++;                                                                        \
        }                                                                                   \
        printf("%s %ld %ld\n", #TYPE, sum, count);                                          \
    } while (0)

int main(void) {
    LOOP(int, -50, <= 50, 7);
    LOOP(int, 100, > -100, -9);
    LOOP(unsigned, 5u, < 500u, 3u);
    LOOP(long, -1000000000000, < 1000000000000, 9999999999);
    LOOP(uint64_t, 1ull << 63, < (1ull << 63) + 100, 1);
    LOOP(short, -300, < 300, 5);
    LOOP(unsigned char, 0, < 250, 10);
    LOOP(int, 0, < 0, 1);
    LOOP(unsigned, 4294967000u, < 4294967290u, 8u);
    int n = 0;
    #pragma omp target parallel for map(tofrom : n) schedule(dynamic)
    for (int i = 8; i != 0; i--) {
        #pragma omp atomic
        n += i;
    }
    printf("%d\n", n);
    return 0;
}
