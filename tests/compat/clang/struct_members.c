/* Single members of a structure: some of them, and all between two of them. */
#include "check.h"

struct s {
    int a, b, c[8], d;
    double e;
};

int main(void)
{
    struct s s = {1, 2, {0, 1, 2, 3, 4, 5, 6, 7}, 4, 5.5};
#pragma omp target map(tofrom : s.b)
    s.b += 10;
    EXPECT(s.b, 12);
#pragma omp target map(tofrom : s.a, s.d) map(to : s.e)
    {
        s.a = (int)s.e;
        s.d = 40;
    }
    EXPECT(s.a, 5);
    EXPECT(s.d, 40);
#pragma omp target map(tofrom : s.c[2 : 3]) map(from : s.e)
    {
        for (int i = 2; i < 5; i++)
            s.c[i] *= 100;
        s.e = 7.25;
    }
    for (int i = 0; i < 8; i++)
        EXPECT(s.c[i], i >= 2 && i < 5 ? 100 * i : i);
    EXPECT_REAL(s.e, 7.25);
#pragma omp target enter data map(to : s.a, s.b)
#pragma omp target map(alloc : s.a, s.b)
    s.a = s.b + 1;
#pragma omp target update from(s.a)
    EXPECT(s.a, 13);
#pragma omp target exit data map(release : s.a, s.b)
    return finish();
}
