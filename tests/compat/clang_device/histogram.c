// Counts of letters: with atomics in device memory, and first in each team's own memory.
#include <stdio.h>

int main(void) {
    enum { N = 3000 };
    static unsigned char text[N];
    unsigned seed = 1;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        text[i] = (seed >> 24) & 31;
    }
    int all[32] = {0}, teams[32] = {0};
    #pragma omp target teams distribute parallel for map(to : text) map(tofrom : all)
    for (int i = 0; i < N; i++) {
        #pragma omp atomic
        all[text[i]]++;
    }
    #pragma omp target teams distribute map(to : text) map(tofrom : teams)
    for (int part = 0; part < 6; part++) {
        int counts[32];
        #pragma omp parallel
        {
            #pragma omp for
            for (int i = 0; i < 32; i++)
                counts[i] = 0;
            #pragma omp for
            for (int i = part * (N / 6); i < (part + 1) * (N / 6); i++) {
                #pragma omp atomic
                counts[text[i]]++;
            }
            #pragma omp for
            for (int i = 0; i < 32; i++) {
                #pragma omp atomic
                teams[i] += counts[i];
            }
        }
    }
    int differ = 0;
    for (int i = 0; i < 32; i++) {
        printf("%d ", all[i]);
        differ += all[i] != teams[i];
    }
    printf("%d\n", differ);
    return 0;
}
