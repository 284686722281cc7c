// Structures by value, unions, bit fields, and structures with pointers.
#include <stdio.h>

#pragma omp begin declare target
struct matrix {
    double m[3][3];
};
union word {
    unsigned u;
    float f;
    unsigned char bytes[4];
};
struct flags {
    unsigned a : 3;
    signed b : 5;
    unsigned long c : 40;
};
__attribute__((noinline)) static struct matrix times(struct matrix a, struct matrix b) {
    struct matrix c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            c.m[i][j] = 0;
            for (int k = 0; k < 3; k++)
                c.m[i][j] += a.m[i][k] * b.m[k][j];
        }
    return c;
}
#pragma omp end declare target

struct view {
    int n;
    int *data;
};

int main(void) {
    struct matrix a = {{{1, 1, 0}, {0, 1, 1}, {.5, 0, 1}}}, powers[8];
    #pragma omp target parallel for map(from : powers) firstprivate(a)
    for (int i = 0; i < 8; i++) {
        struct matrix p = a;
        for (int j = 0; j < i; j++)
            p = times(p, a);
        powers[i] = p;
    }
    double trace = 0;
    for (int i = 0; i < 8; i++)
        trace += powers[i].m[0][0] + powers[i].m[1][1] * 2 + powers[i].m[2][0];
    union word word = {.f = 1.5f};
    struct flags flags = {5, -7, 1l << 39};
    #pragma omp target map(tofrom : word, flags)
    {
        word.u += word.bytes[3] << 4;
        flags.a += 4;
        flags.b *= 2;
        flags.c |= flags.a;
    }
    int numbers[50];
    struct view view = {50, numbers};
    #pragma omp target teams distribute parallel for map(to : view, view.n) map(from : view.data[0:50])
    for (int i = 0; i < view.n; i++)
        view.data[i] = i * 2;
    printf("%g %x %u %d %lx %d\n", trace, word.u, flags.a, flags.b, (unsigned long)flags.c,
           numbers[0] + numbers[25] + numbers[49]);
    return 0;
}
