/* Private copies of a region: scalars of each size, structures, arrays. */
#include "check.h"

struct big {
    int v[200];
    double d;
};

int main(void)
{
    char c = -3;
    short s = -300;
    int i = -70000;
    long long l = 1LL << 40;
    float f = 1.25f;
    double d = -2.5;
    long double ld = 7;
    struct big big = {{0}, 9.5};
    int a[10], own[3] = {1, 2, 3};
    long long sum = 0;
    double real = 0;
    for (int k = 0; k < 200; k++)
        big.v[k] = k;
    for (int k = 0; k < 10; k++)
        a[k] = k;
#pragma omp target firstprivate(c, s, i, l, f, d, ld, big, a) private(own) map(from : sum, real)
    {
        own[0] = 4;
        sum = c + s + i + l + own[0];
        for (int k = 0; k < 200; k++)
            sum += big.v[k];
        for (int k = 0; k < 10; k++)
            sum += a[k]++;
        real = f + d + (double)ld + big.d;
        c = 0;
        i = 0;
        big.d = 0;
    }
    EXPECT(sum, -3 - 300 - 70000 + (1LL << 40) + 4 + 19900 + 45);
    EXPECT_REAL(real, 1.25 - 2.5 + 7 + 9.5);
    EXPECT(c, -3);
    EXPECT(i, -70000);
    EXPECT_REAL(big.d, 9.5);
    EXPECT(a[9], 9);
    EXPECT(own[0], 1);
    return finish();
}
