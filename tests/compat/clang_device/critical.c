// `critical`, with and without names and hints, in regions of one team and of several.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int a = 0, b = 0, list[128], length = 0;
    #pragma omp target parallel for num_threads(128) map(tofrom : a, b)
    for (int i = 0; i < 128; i++) {
        #pragma omp critical
        a = a + i;
        #pragma omp critical(other)
        {
            int old = b;
            b = old + 2 * i;
        }
    }
    #pragma omp target parallel num_threads(96) map(tofrom : length) map(from : list)
    {
        #pragma omp for
        for (int i = 0; i < 128; i++)
            if (i % 3)
                #pragma omp critical(list) hint(omp_sync_hint_contended)
                list[length++] = i;
    }
    long sum = 0;
    for (int i = 0; i < length; i++)
        sum += list[i];
    printf("%d %d %d %ld\n", a, b, length, sum);
    return 0;
}
