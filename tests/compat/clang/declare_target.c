/* Variables and functions of the device. */
#include "check.h"

#pragma omp begin declare target
int counter = 5;
int table[4] = {1, 2, 3, 4};
const double scale = 2.5;
static int twice(int x)
{
    counter++;
    return 2 * x;
}
#pragma omp end declare target

int main(void)
{
    int got = 0;
    double real = 0;
#pragma omp target map(from : got, real)
    {
        got = twice(table[2]) + counter;
        table[3] = 44;
        real = scale * 2;
    }
    EXPECT(got, 12);
    EXPECT_REAL(real, 5);
    EXPECT(counter, 5);
    EXPECT(table[3], 4);
#pragma omp target update from(counter, table)
    EXPECT(counter, 6);
    EXPECT(table[3], 44);
    counter = 100;
#pragma omp target update to(counter)
#pragma omp target map(from : got)
    got = counter;
    EXPECT(got, 100);
    EXPECT(twice(4), 8);
    EXPECT(counter, 101);
    return finish();
}
