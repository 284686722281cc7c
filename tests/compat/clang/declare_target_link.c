/* Variables that are on the device only while they are mapped. */
#include "check.h"

int big[1000];
double x = 1.5;
#pragma omp declare target link(big, x)

int main(void)
{
    for (int i = 0; i < 1000; i++)
        big[i] = i;
#pragma omp target map(tofrom : big, x)
    {
        for (int i = 0; i < 1000; i++)
            big[i] += 3;
        x *= 2;
    }
    EXPECT(big[999], 1002);
    EXPECT_REAL(x, 3);
#pragma omp target enter data map(to : big)
    big[0] = -1;
#pragma omp target
    big[0]++;
#pragma omp target exit data map(from : big)
    EXPECT(big[0], 4);
    return finish();
}
