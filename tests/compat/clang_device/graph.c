// Breadth-first search: levels until nothing changes, with atomics.
#include <stdio.h>

enum { N = 120 };

int main(void) {
    int distance[N], changed = 1, level = 0, reached = 0;
    for (int i = 0; i < N; i++)
        distance[i] = i ? -1 : 0;
    #pragma omp target data map(tofrom : distance)
    while (changed) {
        changed = 0;
        #pragma omp target teams distribute parallel for map(tofrom : changed)
        for (int i = 0; i < N; i++)
            if (distance[i] == level)
                for (int edge = 1; edge <= 3; edge++) {
                    int to = (i * 5 + edge * 7) % N, now = -1;
                    #pragma omp atomic compare capture
                    { now = distance[to]; if (distance[to] == -1) { distance[to] = level + 1; } }
                    if (now == -1) {
                        #pragma omp atomic write
                        changed = 1;
                    }
                }
        level++;
    }
    long sum = 0;
    for (int i = 0; i < N; i++) {
        reached += distance[i] >= 0;
        sum += distance[i] * (long)i;
    }
    printf("%d %d %ld\n", level, reached, sum);
    return 0;
}
