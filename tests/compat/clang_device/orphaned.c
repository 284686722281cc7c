// Constructs in functions that a region calls.
#include <omp.h>
#include <stdio.h>

#pragma omp begin declare target

__attribute__((noinline)) static void fill(int *a, int n, int start) {
    #pragma omp for
    for (int i = 0; i < n; i++)
        a[i] = start + i;
}

__attribute__((noinline)) static int total(const int *a, int n) {
    int sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

__attribute__((noinline)) static void once(int *count) {
    #pragma omp single
    ++*count;
    #pragma omp masked
    *count += 10;
    #pragma omp barrier
}

#pragma omp end declare target

int main(void) {
    int a[200], count = 0, before = 0, after = 0;
    #pragma omp target map(from : a, before, after) map(tofrom : count)
    {
        #pragma omp parallel num_threads(64)
        {
            fill(a, 200, 3);
            once(&count);
        }
        before = total(a, 200);
        #pragma omp parallel
        fill(a, 200, count);
        after = total(a, 100);
    }
    printf("%d %d %d\n", count, before, after);
    return 0;
}
