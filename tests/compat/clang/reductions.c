/* Reductions of teams and threads. */
#include "check.h"

enum { N = 10000 };

int main(void)
{
    static int v[N];
    long sum = 5;
    int most = -1, least = 1 << 30, all = ~0, any = 0, parts[3] = {0};
    double product = 1;
    for (int i = 0; i < N; i++)
        v[i] = (i * 7919) % N;
#pragma omp target teams distribute parallel for reduction(+ : sum) reduction(max : most) reduction(min : least) map(to : v)
    for (int i = 0; i < N; i++) {
        sum += v[i];
        most = v[i] > most ? v[i] : most;
        least = v[i] < least ? v[i] : least;
    }
    EXPECT(sum, 5 + (long)N * (N - 1) / 2);
    EXPECT(most, N - 1);
    EXPECT(least, 0);
#pragma omp target parallel for reduction(& : all) reduction(| : any) map(to : v)
    for (int i = 0; i < N; i++) {
        all &= v[i] | 64;
        any |= v[i];
    }
    EXPECT(all, 64);
    EXPECT(any, 16383);
#pragma omp target teams distribute parallel for reduction(+ : parts[0 : 3]) map(to : v)
    for (int i = 0; i < N; i++)
        parts[v[i] % 3]++;
    EXPECT(parts[0], 3334);
    EXPECT(parts[2], 3333);
#pragma omp target parallel for simd reduction(* : product)
    for (int i = 0; i < 20; i++)
        product *= 2;
    EXPECT_REAL(product, 1048576);
    return finish();
}
