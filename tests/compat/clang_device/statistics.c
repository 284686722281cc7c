// Several reductions in one loop, in consecutive regions, and over halves.
#include <math.h>
#include <stdio.h>

int main(void) {
    enum { N = 700 };
    static double x[N];
    for (int i = 0; i < N; i++)
        x[i] = (i * 37 % 101) / 4.0;
    double sum = 0, square = 0, least = 1e9, most = -1e9;
    int even = 0;
    #pragma omp target teams distribute parallel for map(to : x) reduction(+ : sum, square, even) \
        reduction(min : least) reduction(max : most)
    for (int i = 0; i < N; i++) {
        sum += x[i];
        square += x[i] * x[i];
        even += (int)x[i] % 2 == 0;
        least = fmin(least, x[i]);
        most = fmax(most, x[i]);
    }
    double halves[2] = {0, 0};
    for (int half = 0; half < 2; half++) {
        double total = 0;
        #pragma omp target parallel for map(to : x[half * N / 2 : N / 2]) reduction(+ : total)
        for (int i = half * N / 2; i < (half + 1) * N / 2; i++)
            total += x[i];
        halves[half] = total;
    }
    printf("%g %g %d %g %g %g %g\n", sum, square, even, least, most, halves[0], halves[1]);
    return 0;
}
