// Sorting: a network over many regions, and in one region between barriers.
#include <stdio.h>

enum { N = 256 };

int main(void) {
    static int a[N], b[N];
    for (int i = 0; i < N; i++)
        a[i] = b[i] = (i * 7919 + 31) % 1009;
    #pragma omp target data map(tofrom : a)
    for (int size = 2; size <= N; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            #pragma omp target teams distribute parallel for
            for (int i = 0; i < N; i++) {
                int other = i ^ step;
                if (other > i && (a[i] > a[other]) == ((i & size) == 0)) {
                    int old = a[i];
                    a[i] = a[other];
                    a[other] = old;
                }
            }
        }
    #pragma omp target map(tofrom : b)
    #pragma omp parallel num_threads(128)
    for (int pass = 0; pass < N; pass++) {
        #pragma omp for
        for (int i = pass % 2; i < N - 1; i += 2)
            if (b[i] > b[i + 1]) {
                int old = b[i];
                b[i] = b[i + 1];
                b[i + 1] = old;
            }
    }
    int ordered = 1;
    for (int i = 0; i + 1 < N; i++)
        ordered &= a[i] <= a[i + 1] && a[i] == b[i];
    printf("%d %d %d %d\n", ordered, a[0], a[N / 2], b[N - 1]);
    return 0;
}
