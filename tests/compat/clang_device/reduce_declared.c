// A declared reduction of a structure.
#include <stdio.h>

struct best {
    int at;
    double value;
};

static struct best better(struct best a, struct best b) {
    if (a.value != b.value)
        return a.value > b.value ? a : b;
    return a.at < b.at ? a : b;
}

#pragma omp declare reduction(best : struct best : omp_out = better(omp_out, omp_in)) \
    initializer(omp_priv = {1 << 30, -1e300})

int main(void) {
    for (int n = 10; n < 2000; n = n * 3 + 1) {
        struct best one = {1 << 30, -1e300}, many = one;
        #pragma omp target parallel for reduction(best : one)
        for (int i = 0; i < n; i++)
            one = better(one, (struct best){i, i * 31 % 97});
        #pragma omp target teams distribute parallel for reduction(best : many)
        for (int i = 0; i < n; i++)
            many = better(many, (struct best){i, i * 57 % 211 * .5});
        printf("%d: %d %g, %d %g\n", n, one.at, one.value, many.at, many.value);
    }
    return 0;
}
