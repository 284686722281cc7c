// Reductions of arrays and of sections.
#include <stdio.h>

int main(void) {
    int histogram[16] = {0};
    double sums[8] = {0};
    long *heap = (long[10]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    #pragma omp target parallel for reduction(+ : histogram)
    for (int i = 0; i < 1000; i++)
        histogram[i * i % 16]++;
    #pragma omp target teams distribute parallel for reduction(+ : sums[2:4])
    for (int i = 0; i < 1000; i++)
        sums[2 + i % 4] += i * .5;
    #pragma omp target parallel for map(tofrom : heap[0:10]) reduction(max : heap[3:5])
    for (int i = 0; i < 500; i++)
        if (heap[3 + i % 5] < i)
            heap[3 + i % 5] = i;
    for (int i = 0; i < 16; i++)
        printf("%d ", histogram[i]);
    for (int i = 0; i < 8; i++)
        printf("%g ", sums[i]);
    for (int i = 0; i < 10; i++)
        printf("%ld ", heap[i]);
    printf("\n");
    return 0;
}
