/* 64 MiB in both directions. */
#include "check.h"

int main(void)
{
    size_t n = 16u << 20, wrong = 0;
    unsigned *v = malloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = i * 2654435761u;
#pragma omp target map(tofrom : v[0 : n])
    for (size_t i = 0; i < n; i += 64)
        v[i] ^= 0xffffffff;
    for (size_t i = 0; i < n; i++)
        wrong += v[i] != ((unsigned)(i * 2654435761u) ^ (i % 64 ? 0 : 0xffffffff));
    EXPECT(wrong, 0);
    free(v);
    return finish();
}
