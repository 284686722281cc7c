// Complete regions as tasks: `nowait` and `depend`, each with its own threads.
#include <stdio.h>

int main(void) {
    enum { N = 256 };
    static int a[N], b[N], c[N];
    int sum = 0;
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp target parallel for nowait depend(out : a) map(from : a)
        for (int i = 0; i < N; i++)
            a[i] = i;
        #pragma omp target parallel for nowait depend(out : b) map(from : b)
        for (int i = 0; i < N; i++)
            b[i] = i * 2;
        #pragma omp target parallel for nowait depend(in : a, b) depend(out : c) map(to : a, b) map(from : c)
        for (int i = 0; i < N; i++)
            c[i] = a[i] + b[N - 1 - i];
        #pragma omp target nowait depend(inout : c) map(tofrom : c)
        {
            #pragma omp parallel for
            for (int i = 0; i < N; i++)
                c[i] *= 3;
        }
        #pragma omp target parallel for nowait depend(in : c) map(to : c) reduction(+ : sum)
        for (int i = 0; i < N; i++)
            sum += c[i];
        #pragma omp taskwait
    }
    printf("%d %d\n", sum, c[17]);
    return 0;
}
