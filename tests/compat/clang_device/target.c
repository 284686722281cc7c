// A region of one thread: scalars, arrays and structures, by every kind of map.
#include <stdio.h>

struct pair {
    int a;
    double b;
};

int main(void) {
    int in = 3, out = 0, both = 5, firstprivate = 7;
    struct pair pairs[4] = {{1, .5}, {2, .25}, {3, .125}, {4, .0625}}, sum = {0, 0};
    #pragma omp target map(to : in, pairs) map(from : out) map(tofrom : both, sum)
    {
        out = in * firstprivate;
        both += out;
        firstprivate = 100;
        for (int i = 0; i < 4; i++) {
            sum.a += pairs[i].a;
            sum.b += pairs[i].b;
        }
    }
    printf("%d %d %d %d %d %g\n", in, out, both, firstprivate, sum.a, sum.b);
    return 0;
}
