/* Reference counts: "release" decrements the count, "delete" sets it to zero, and "from" copies
   when it reaches zero. */
#include "check.h"

static int present(void *p)
{
    return omp_target_is_present(p, omp_get_default_device());
}

int main(void)
{
    int a[8] = {0}, b[8] = {0}, c[8] = {0};
    for (int i = 0; i < 3; i++) {
#pragma omp target enter data map(to : a, b, c)
    }
#pragma omp target
    {
        a[0] = 5;
        b[0] = 6;
        c[0] = 7;
    }
#pragma omp target exit data map(release : a)
    EXPECT(present(a), 1);
#pragma omp target exit data map(from : a)
    EXPECT(a[0], 0);
    EXPECT(present(a), 1);
#pragma omp target exit data map(from : a)
    EXPECT(a[0], 5);
    EXPECT(present(a), 0);
#pragma omp target exit data map(delete : b)
    EXPECT(present(b), 0);
    EXPECT(b[0], 0);
#pragma omp target exit data map(from : b)
    EXPECT(b[0], 0);
#pragma omp target exit data map(release : c)
#pragma omp target exit data map(release : c)
#pragma omp target exit data map(release : c)
    EXPECT(present(c), 0);
    EXPECT(c[0], 0);
    return finish();
}
