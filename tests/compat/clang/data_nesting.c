/* Data regions in data regions: the outermost copies. */
#include "check.h"

int main(void)
{
    int a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b = 1;
#pragma omp target data map(tofrom : a)
    {
#pragma omp target data map(tofrom : a) map(to : b)
        {
#pragma omp target data map(from : a[2 : 2])
            {
#pragma omp target
                for (int i = 0; i < 8; i++)
                    a[i] += 10 * b;
            }
            EXPECT(a[2], 3);
        }
        EXPECT(a[0], 1);
    }
    for (int i = 0; i < 8; i++)
        EXPECT(a[i], i + 11);
    return finish();
}
