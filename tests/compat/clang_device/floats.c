// Floating point: conversions, comparisons, special values, in both widths. The results are
// exact, even if the compiler contracts.
#include <math.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>

static uint64_t bits(double d) {
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

int main(void) {
    static double d[40][6];
    static long n[40][6];
    #pragma omp target teams distribute parallel for map(from : d, n)
    for (int i = 0; i < 40; i++) {
        double x = (i - 20) * 1.37, y = i % 7 - 2.5;
        float f = (float)x, g = (float)y;
        d[i][0] = x / y;
        d[i][1] = f / g;
        d[i][2] = sqrt(fabs(x)) + fmin(x, y) - fmax(x, y);
        d[i][3] = floor(x) * 1000 + ceil(x) * 10 + trunc(y) + rint(x);
        d[i][4] = copysign(x, -y) + (double)(float)(x * 1e10);
        d[i][5] = i == 3 ? 0.0 / (y - y) : i == 4 ? 1.0 / (y - y) : fma(x, y, 1);
        n[i][0] = (long)x * 100 + (int)f;
        n[i][1] = (unsigned char)fabs(x) + (long)(y * 1e15);
        n[i][2] = (x < y) | (x <= y) << 1 | (x == x) << 2 | (x != y) << 3;
        n[i][3] = (long)((float)(i * 16777217L) + (double)(i * 9007199254740993L));
        n[i][4] = (isnan(d[i][5]) != 0) + 2 * (isinf(d[i][5]) != 0) + 4 * (signbit(x) != 0);
        n[i][5] = lrint(x) + lround(y);
    }
    for (int k = 0; k < 6; k++) {
        uint64_t hash = 0, sum = 0;
        for (int i = 0; i < 40; i++) {
            hash = hash * 31 ^ (isnan(d[i][k]) ? 1 : bits(d[i][k]));
            sum = sum * 31 + n[i][k];
        }
        printf("%016lx %016lx\n", hash, sum);
    }
    return 0;
}
