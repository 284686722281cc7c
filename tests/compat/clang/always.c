/* "always" copies even if the data is already there. */
#include "check.h"

int main(void)
{
    int a = 1, b = 1, seen_a = 0, seen_b = 0;
#pragma omp target enter data map(to : a, b)
    a = b = 2;
#pragma omp target map(to : a) map(always, to : b) map(from : seen_a, seen_b)
    {
        seen_a = a;
        seen_b = b;
        a = b = 3;
    }
    EXPECT(seen_a, 1);
    EXPECT(seen_b, 2);
#pragma omp target map(always, from : a) map(from : b)
    a = b = 4;
    EXPECT(a, 4);
    EXPECT(b, 2);
#pragma omp target map(always, tofrom : a)
    a += 10;
    EXPECT(a, 14);
#pragma omp target exit data map(from : a, b)
    EXPECT(a, 14);
    EXPECT(b, 4);
    return finish();
}
