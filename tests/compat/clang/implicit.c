/* Variables that a region uses and no clause names. */
#include "check.h"

struct pair {
    int a, b;
};
static int global = 4;

int main(void)
{
    int scalar = 1, array[6] = {0};
    struct pair pair = {2, 3};
    double real = 2.5;
    int n = 5, vla[n];
    vla[4] = 40;
#pragma omp target
    {
        scalar = 99;
        real = 0;
        array[5] = 55;
        pair.b = 33;
        vla[4]++;
        global = 44;
    }
    EXPECT(scalar, 1);
    EXPECT_REAL(real, 2.5);
    EXPECT(array[5], 55);
    EXPECT(pair.b, 33);
    EXPECT(vla[4], 41);
    EXPECT(global, 4);
    return finish();
}
