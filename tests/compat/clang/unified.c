/* Memory that host and device share. */
#include "check.h"
#pragma omp requires unified_shared_memory

static int global = 3;

int main(void)
{
    int *p = malloc(16 * sizeof *p), got = 0;
    p[3] = 33;
#pragma omp target map(from : got)
    {
        got = p[3] + global;
        p[4] = 44;
    }
    EXPECT(got, 36);
    EXPECT(p[4], 44);
#pragma omp target data map(tofrom : p[0 : 16])
    {
        p[5] = 55;
#pragma omp target
        p[5]++;
        EXPECT(p[5], 56);
    }
    free(p);
    return finish();
}
