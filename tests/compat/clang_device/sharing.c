// `private`, `firstprivate`, `lastprivate`, `linear` and `shared` in combined constructs.
#include <stdio.h>

int main(void) {
    int a[200], last = -1, x = 5, y = 9, total = 0, linear = 100;
    double d = 2.5;
    #pragma omp target teams distribute parallel for lastprivate(last) map(from : a)
    for (int i = 0; i < 200; i++) {
        last = i * 2;
        a[i] = last + 1;
    }
    #pragma omp target teams distribute parallel for private(x) firstprivate(y, d) reduction(+ : total)
    for (int i = 0; i < 100; i++) {
        x = y + i;
        total += x + (int)(d * 2);
    }
    int seen[64];
    #pragma omp target map(tofrom : linear) map(from : seen)
    {
        int team = 3;
        #pragma omp parallel for linear(linear : 2) shared(team)
        for (int i = 0; i < 64; i++) {
            seen[i] = linear + team;
            linear += 2;
        }
    }
    int conditional = 0;
    #pragma omp target parallel for simd lastprivate(conditional) simdlen(8)
    for (int i = 0; i < 77; i++)
        conditional = i * i;
    printf("%d %d %d %d %d %d %d %d %d\n", last, a[10], a[199], x, total, linear, seen[0], seen[63],
           conditional);
    return 0;
}
