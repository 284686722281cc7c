// `sections` and `single` in a region.
#include <stdio.h>

int main(void) {
    int a[4] = {0}, order[40], at = 0;
    #pragma omp target map(tofrom : a, at) map(from : order)
    {
        #pragma omp parallel
        {
            #pragma omp sections
            {
                #pragma omp section
                a[0] = 1;
                #pragma omp section
                a[1] = 2;
                #pragma omp section
                a[2] = 4;
            }
            #pragma omp single
            a[3] = a[0] + a[1] + a[2];
        }
        #pragma omp parallel sections reduction(+ : a)
        {
            a[0] += 10;
            #pragma omp section
            a[0] += 100;
        }
    }
    #pragma omp target map(tofrom : at) map(from : order)
    for (int i = 0; i < 40; i++)
        order[at++] = i * 3;
    long sum = 0;
    for (int i = 0; i < 40; i++)
        sum += order[i] * (long)i;
    printf("%d %d %d %d %d %ld\n", a[0], a[1], a[2], a[3], at, sum);
    return 0;
}
