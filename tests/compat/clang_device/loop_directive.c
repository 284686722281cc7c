// `loop`, `simd` and their combined constructs.
#include <stdio.h>

int main(void) {
    static int a[400], b[400];
    int sum = 0, most = 0;
    #pragma omp target teams loop map(from : a)
    for (int i = 0; i < 400; i++)
        a[i] = i * 3;
    #pragma omp target parallel loop map(from : b) map(to : a)
    for (int i = 0; i < 400; i++)
        b[i] = a[399 - i];
    #pragma omp target teams loop reduction(+ : sum) map(to : a, b)
    for (int i = 0; i < 400; i++)
        sum += a[i] * (b[i] % 7);
    #pragma omp target simd reduction(max : most) map(to : b)
    for (int i = 0; i < 400; i++)
        most = b[i] % 101 > most ? b[i] % 101 : most;
    #pragma omp target teams map(tofrom : a)
    #pragma omp loop bind(teams)
    for (int i = 0; i < 40; i++) {
        #pragma omp loop bind(thread)
        for (int j = 0; j < 10; j++)
            a[i * 10 + j] += j;
    }
    long check = 0;
    for (int i = 0; i < 400; i++)
        check += a[i] * (long)i;
    printf("%d %d %ld\n", sum, most, check);
    return 0;
}
