// Complex numbers, whose products and quotients the compiler inlines.
#include <complex.h>
#include <stdio.h>

#pragma omp begin declare target
static int escape(float complex c) {
    float complex z = 0;
    int n = 0;
    while (n < 60 && crealf(z) * crealf(z) + cimagf(z) * cimagf(z) < 4) {
        float re = crealf(z) * crealf(z) - cimagf(z) * cimagf(z) + crealf(c);
        float im = 2 * crealf(z) * cimagf(z) + cimagf(c);
        z = __builtin_complex(re, im);
        n++;
    }
    return n;
}
#pragma omp end declare target

int main(void) {
    static unsigned char picture[24][48];
    #pragma omp target teams distribute parallel for collapse(2) map(from : picture)
    for (int y = 0; y < 24; y++)
        for (int x = 0; x < 48; x++)
            picture[y][x] = escape(__builtin_complex(x / 16.f - 2.f, y / 12.f - 1.f)) / 4;
    for (int y = 0; y < 24; y += 2) {
        for (int x = 0; x < 48; x++)
            putchar(" .:-=+*#%@ABCDEF"[picture[y][x]]);
        putchar('\n');
    }
    double complex sum = 1;
    #pragma omp target map(tofrom : sum)
    for (int i = 1; i < 6; i++)
        sum += __builtin_complex(creal(sum) * .5 - i, cimag(sum) + .25);
    printf("%g %g\n", creal(sum), cimag(sum));
    return 0;
}
