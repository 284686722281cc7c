// Collapsed nested loops, of several types and steps.
#include <stdio.h>

int main(void) {
    static int a[7][11][13];
    #pragma omp target teams distribute parallel for collapse(3) map(from : a)
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 11; j++)
            for (int k = 0; k < 13; k++)
                a[i][j][k] = i * 143 + j * 13 + k;
    long sum = 0;
    for (int i = 0; i < 1001; i++)
        sum += (&a[0][0][0])[i] == i;
    static unsigned char b[16][16];
    #pragma omp target parallel for collapse(2) schedule(static, 1) map(tofrom : b)
    for (unsigned char i = 15; i > 0; i -= 3)
        for (long j = -4; j < 12; j += 4)
            b[i][j + 4] = i + 1;
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += b[i / 16][i % 16] * i;
    static int c[20][20];
    #pragma omp target teams distribute collapse(2) map(tofrom : c)
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            c[i][j] += i * j + 1;
    long product = 0;
    for (int i = 0; i < 400; i++)
        product += c[i / 20][i % 20] * (long)i;
    // Not rectangular.
    int triangle = 0;
    #pragma omp target parallel for collapse(2) reduction(+ : triangle)
    for (int i = 0; i < 20; i++)
        for (int j = 0; j <= i; j++)
            triangle += i * j;
    printf("%ld %d %ld %d\n", sum, count, product, triangle);
    return 0;
}
