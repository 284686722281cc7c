/* A mapper that uses another one, by name. */
#include "check.h"

struct leaf {
    int n;
    int *v;
};
struct tree {
    struct leaf left, right;
    int weight;
};
#pragma omp declare mapper(deep : struct leaf l) map(l.n) map(l.v, l.v[0 : l.n])
#pragma omp declare mapper(struct tree t) map(t.weight) map(mapper(deep), tofrom : t.left) map(mapper(deep), tofrom : t.right)

int main(void)
{
    int a[3] = {1, 2, 3}, b[5] = {10, 20, 30, 40, 50};
    struct tree t = {{3, a}, {5, b}, 7};
#pragma omp target map(tofrom : t)
    {
        for (int i = 0; i < t.left.n; i++)
            t.left.v[i] += t.weight;
        for (int i = 0; i < t.right.n; i++)
            t.right.v[i] *= 2;
        t.weight = 8;
    }
    EXPECT(a[2], 10);
    EXPECT(b[4], 100);
    EXPECT(t.weight, 8);
    EXPECT(t.left.v == a, 1);
    return finish();
}
