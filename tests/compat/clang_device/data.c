// Data that stays on the device: `target data`, `enter` and `exit`, `update`, device addresses.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    enum { N = 300 };
    double a[N], b[N], *heap = malloc(N * sizeof *heap);
    for (int i = 0; i < N; i++)
        a[i] = heap[i] = i;
    #pragma omp target data map(to : a) map(from : b)
    {
        #pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            b[i] = a[i] * 2;
        a[7] = 1000;
        #pragma omp target update to(a[5:10])
        #pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            b[i] += a[i];
        #pragma omp target data use_device_addr(b)
        {
            double *p = b;
            #pragma omp target parallel for is_device_ptr(p)
            for (int i = 0; i < N; i++)
                p[i] += .5;
        }
    }
    #pragma omp target enter data map(to : heap[0:N])
    #pragma omp target parallel for
    for (int i = 1; i < N; i++)
        heap[i] = -heap[i];
    #pragma omp target update from(heap[10:5])
    double early = heap[12];
    #pragma omp target exit data map(from : heap[0:N])
    int *scratch = malloc(N * sizeof *scratch), sum = 0;
    #pragma omp target enter data map(alloc : scratch[0:N])
    #pragma omp target
    #pragma omp parallel for
    for (int i = 0; i < N; i++)
        scratch[i] = i * i;
    #pragma omp target teams distribute parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += scratch[i];
    #pragma omp target exit data map(delete : scratch[0:N])
    free(scratch);
    double check = 0;
    for (int i = 0; i < N; i++)
        check += b[i] * i + heap[i];
    printf("%g %g %g %d\n", check, early, heap[299], sum);
    free(heap);
    return 0;
}
