/* Mappers: arrays of structures with data of their own. Whether a pointer on the device must be
   written again depends on the addresses of new data.
   report: free */
#include "check.h"

struct vec {
    int n;
    int *data;
};
#pragma omp declare mapper(struct vec v) map(v, v.data[0 : v.n])

int main(void)
{
    struct vec one = {6, malloc(6 * sizeof(int))}, many[4];
    for (int i = 0; i < 6; i++)
        one.data[i] = i;
    for (int k = 0; k < 4; k++) {
        many[k].n = k + 1;
        many[k].data = malloc((k + 1) * sizeof(int));
        for (int i = 0; i <= k; i++)
            many[k].data[i] = 10 * k + i;
    }
#pragma omp target map(mapper(default), tofrom : one)
    for (int i = 0; i < one.n; i++)
        one.data[i] += 100;
#pragma omp target map(tofrom : many[0 : 4])
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < many[k].n; i++)
            many[k].data[i] += 1000;
    for (int i = 0; i < 6; i++)
        EXPECT(one.data[i], 100 + i);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i <= k; i++)
            EXPECT(many[k].data[i], 1000 + 10 * k + i);
    return finish();
}
