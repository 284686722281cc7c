// The functions of math.h that CUDA's libdevice provides, for double.
#include <math.h>
#include <stdio.h>

int main(void) {
    static double r[24][16];
    #pragma omp target teams distribute parallel for map(from : r)
    for (int i = 0; i < 16; i++) {
        double x = .1 + i * .37, small = (i - 8) * .12;
        r[0][i] = sin(x), r[1][i] = cos(x), r[2][i] = tan(x);
        r[3][i] = asin(small), r[4][i] = acos(small), r[5][i] = atan(x);
        r[6][i] = atan2(small, x), r[7][i] = sinh(x), r[8][i] = cosh(x), r[9][i] = tanh(x);
        r[10][i] = exp(x), r[11][i] = exp2(x), r[12][i] = expm1(small), r[13][i] = log(x);
        r[14][i] = log2(x), r[15][i] = log10(x), r[16][i] = log1p(x), r[17][i] = pow(x, small);
        r[18][i] = cbrt(x), r[19][i] = hypot(x, 3), r[20][i] = fmod(x, .3), r[21][i] = erf(small);
        r[22][i] = tgamma(x), r[23][i] = lgamma(x) + remainder(x, .7);
    }
    for (int k = 0; k < 24; k++) {
        for (int i = 0; i < 16; i += 5)
            printf("%.9e ", r[k][i]);
        printf("\n");
    }
    return 0;
}
