/* Updates in both directions, of whole arrays and of parts. */
#include "check.h"

int main(void)
{
    int a[32], ok = -1;
    for (int i = 0; i < 32; i++)
        a[i] = i;
#pragma omp target data map(to : a)
    {
        for (int i = 0; i < 32; i++)
            a[i] += 100;
#pragma omp target update to(a[8 : 8])
#pragma omp target map(from : ok)
        {
            ok = 1;
            for (int i = 0; i < 32; i++)
                if (a[i] != i + (i >= 8 && i < 16 ? 100 : 0))
                    ok = 0;
            for (int i = 0; i < 32; i++)
                a[i] = 2 * i;
        }
        EXPECT(ok, 1);
#pragma omp target update from(a[16 : 4])
        for (int i = 0; i < 32; i++)
            EXPECT(a[i], i >= 16 && i < 20 ? 2 * i : i + 100);
        int yes = 0;
#pragma omp target update from(a) if (yes)
        EXPECT(a[0], 100);
        yes = 1;
#pragma omp target update from(a) if (yes)
        EXPECT(a[0], 0);
        EXPECT(a[31], 62);
    }
    EXPECT(a[31], 62);
    return finish();
}
