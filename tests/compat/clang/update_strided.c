/* Updates with strides from 0; update_sections.c has others. */
#include "check.h"

int main(void)
{
    int v[30], ok = -1;
    for (int i = 0; i < 30; i++)
        v[i] = i;
#pragma omp target data map(to : v)
    {
#pragma omp target
        for (int i = 0; i < 30; i++)
            v[i] += 1000;
#pragma omp target update from(v[0 : 5 : 3])
        for (int i = 0; i < 30; i++)
            EXPECT(v[i], i % 3 == 0 && i < 15 ? i + 1000 : i);
        for (int i = 0; i < 30; i++)
            v[i] = -1;
#pragma omp target update to(v[0 : 10 : 2])
#pragma omp target map(from : ok)
        {
            ok = 1;
            for (int i = 0; i < 30; i++)
                if (v[i] != (i % 2 == 0 && i < 20 ? -1 : i + 1000))
                    ok = 0;
        }
        EXPECT(ok, 1);
    }
    return finish();
}
