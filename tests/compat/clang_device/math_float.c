// The functions of math.h that CUDA's libdevice provides, for float.
#include <math.h>
#include <stdio.h>

int main(void) {
    static float r[20][16];
    #pragma omp target teams distribute parallel for map(from : r)
    for (int i = 0; i < 16; i++) {
        float x = .1f + i * .37f, small = (i - 8) * .12f;
        r[0][i] = sinf(x), r[1][i] = cosf(x), r[2][i] = tanf(x);
        r[3][i] = asinf(small), r[4][i] = acosf(small), r[5][i] = atanf(x);
        r[6][i] = atan2f(small, x), r[7][i] = sinhf(x), r[8][i] = coshf(x), r[9][i] = tanhf(x);
        r[10][i] = expf(x), r[11][i] = exp2f(x), r[12][i] = expm1f(small), r[13][i] = logf(x);
        r[14][i] = log2f(x), r[15][i] = log10f(x), r[16][i] = powf(x, small);
        r[17][i] = cbrtf(x), r[18][i] = hypotf(x, 3), r[19][i] = fmodf(x, .3f) + sqrtf(x);
    }
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < 16; i += 5)
            printf("%.4e ", r[k][i]);
        printf("\n");
    }
    return 0;
}
