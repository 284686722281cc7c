// One region with several `parallel` and code of its first thread between them.
#include <stdio.h>

int main(void) {
    int a[256], steps[3] = {0, 0, 0};
    #pragma omp target map(from : a) map(tofrom : steps)
    {
        int start = 10;
        #pragma omp parallel for
        for (int i = 0; i < 256; i++)
            a[i] = start + i;
        for (int i = 0; i < 256; i++)
            steps[0] += a[i];
        start = steps[0] % 17;
        #pragma omp parallel for
        for (int i = 0; i < 256; i++)
            a[i] = a[i] * start - i;
        for (int i = 255; i >= 0; i--)
            steps[1] = steps[1] * 31 % 10007 + a[i] % 100;
        #pragma omp parallel for firstprivate(start) num_threads(64)
        for (int i = 0; i < 128; i++) {
            start++;
            a[i] += a[255 - i];
        }
        steps[2] = start;
    }
    long sum = 0;
    for (int i = 0; i < 256; i++)
        sum += a[i] * (i + 1L);
    printf("%d %d %d %ld\n", steps[0], steps[1], steps[2], sum);
    return 0;
}
