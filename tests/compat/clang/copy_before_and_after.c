/* A copy to the device before the kernel and one from it afterwards: neither sees the host's
   writes in between. */
#include "check.h"

int main(void)
{
    double x[256], seen = -1;
    for (int i = 0; i < 256; i++)
        x[i] = i;
#pragma omp target data map(tofrom : x)
    {
        x[5] = 1000; /* The device has the earlier 5. */
#pragma omp target map(from : seen)
        {
            seen = x[5];
            for (int i = 0; i < 256; i++)
                x[i] *= 2;
        }
        EXPECT_REAL(x[5], 1000);
        EXPECT_REAL(x[6], 6);
    }
    EXPECT_REAL(seen, 5);
    EXPECT_REAL(x[5], 10);
    EXPECT_REAL(x[255], 510);
    return finish();
}
