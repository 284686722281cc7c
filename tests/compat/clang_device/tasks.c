// Tasks, which LLVM's device runtime runs where they are created.
#include <stdio.h>

#pragma omp begin declare target

static int fib(int n) {
    int a = 0, b = 0;
    if (n < 2)
        return n;
    #pragma omp task shared(a)
    a = fib(n - 1);
    #pragma omp task shared(b) if (n > 5)
    b = fib(n - 2);
    #pragma omp taskwait
    return a + b;
}

#pragma omp end declare target

int main(void) {
    int result = 0, sum = 0, chain = 1, loop[64], thousands = 0;
    #pragma omp target map(tofrom : result, sum, chain, thousands) map(from : loop)
    {
        result = fib(8);
        #pragma omp taskgroup
        for (int i = 0; i < 20; i++)
            #pragma omp task firstprivate(i) shared(sum)
            sum += i;
        #pragma omp task shared(chain) depend(out : chain)
        chain *= 3;
        #pragma omp task shared(chain) depend(inout : chain)
        chain += 5;
        #pragma omp taskwait
        #pragma omp taskloop shared(loop) grainsize(8)
        for (int i = 0; i < 64; i++)
            loop[i] = i * i;
        #pragma omp parallel num_threads(64)
        {
            #pragma omp task shared(thousands)
            {
                #pragma omp atomic
                thousands += 1000;
            }
            #pragma omp taskyield
        }
    }
    long check = 0;
    for (int i = 0; i < 64; i++)
        check += loop[i];
    printf("%d %d %d %ld %d\n", result, sum, chain, check, thousands > 0);
    return 0;
}
