// A hash table with open addressing, which all threads fill.
#include <stdio.h>

enum { SIZE = 1024, N = 600 };

int main(void) {
    static unsigned keys[SIZE], counts[SIZE];
    int lost = 0, found = 0, different = 0;
    #pragma omp target data map(tofrom : keys, counts)
    {
        #pragma omp target teams distribute parallel for reduction(+ : lost)
        for (int i = 0; i < N; i++) {
            unsigned key = i * 7 % 200 + 1, at = key * 2654435761u % SIZE, old = 0;
            int tries = 0;
            for (; tries < SIZE; tries++, at = (at + 1) % SIZE) {
                #pragma omp atomic compare capture
                { old = keys[at]; if (keys[at] == 0) { keys[at] = key; } }
                if (old == 0 || old == key)
                    break;
            }
            lost += tries == SIZE;
            #pragma omp atomic
            counts[at]++;
        }
        #pragma omp target parallel for reduction(+ : found, different)
        for (int i = 0; i < SIZE; i++) {
            found += counts[i];
            different += keys[i] != 0;
        }
    }
    printf("%d %d %d\n", lost, found, different);
    return 0;
}
