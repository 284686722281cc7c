// Random walks: threads that diverge, and end at different times.
#include <stdint.h>
#include <stdio.h>

#pragma omp begin declare target
static uint32_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}
#pragma omp end declare target

int main(void) {
    long steps = 0, longest = 0, inside = 0;
    #pragma omp target teams distribute parallel for reduction(+ : steps, inside) reduction(max : longest)
    for (int i = 0; i < 200; i++) {
        uint64_t state = 12345 + i;
        int x = 0, y = 0, n = 0;
        while (x * x + y * y < 40 && n < 300) {
            switch (next(&state) % 4) {
            case 0: x++; break;
            case 1: x--; break;
            case 2: y++; break;
            default: y--;
            }
            n++;
            if (x == 3 && y == 3)
                continue;
            if (x == -6)
                break;
        }
        steps += n;
        longest = n > longest ? n : longest;
        double u = next(&state) / 2147483648.0, v = next(&state) / 2147483648.0;
        inside += u * u + v * v < 1;
    }
    printf("%ld %ld %ld\n", steps, longest, inside);
    return 0;
}
