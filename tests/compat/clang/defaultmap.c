/* Other rules for variables that no clause names. */
#include "check.h"

int main(void)
{
    int scalar = 1, array[4] = {1, 2, 3, 4}, got = 0;
    int *p = array;
#pragma omp target defaultmap(tofrom : scalar)
    scalar = 2;
    EXPECT(scalar, 2);
#pragma omp target defaultmap(to : aggregate) map(from : got)
    {
        got = array[3];
        array[3] = 0;
    }
    EXPECT(got, 4);
    EXPECT(array[3], 4);
#pragma omp target defaultmap(firstprivate : aggregate) map(from : got)
    {
        array[0] = 70;
        got = array[0];
    }
    EXPECT(got, 70);
    EXPECT(array[0], 1);
#pragma omp target enter data map(to : array)
#pragma omp target defaultmap(present : aggregate)
    array[1] = 20;
#pragma omp target defaultmap(none) map(p[0 : 4])
    p[2] = 30;
#pragma omp target exit data map(from : array)
    EXPECT(array[1], 20);
    EXPECT(array[2], 30);
    return finish();
}
