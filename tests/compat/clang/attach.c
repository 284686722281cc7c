/* A pointer that is mapped first gets its data later. */
#include "check.h"

struct s {
    int *p;
    int n;
};

int main(void)
{
    int one[4] = {1, 2, 3, 4}, sum = 0;
    struct s st = {one, 4};
#pragma omp target enter data map(to : st)
#pragma omp target enter data map(to : st.p[0 : 4])
#pragma omp target map(from : sum)
    {
        sum = 0;
        for (int i = 0; i < st.n; i++)
            sum += st.p[i]++;
    }
    EXPECT(sum, 10);
#pragma omp target update from(one)
    EXPECT(one[3], 5);
    EXPECT(st.p == one, 1);
#pragma omp target exit data map(from : st.p[0 : 4])
#pragma omp target exit data map(release : st)
    EXPECT(omp_target_is_present(&st, omp_get_default_device()), 0);
    return finish();
}
