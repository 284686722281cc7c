// Lambdas and other objects that a region calls, with what they captured.
#include "check.h"

template <typename F> static void apply(int *v, int n, F f)
{
#pragma omp target teams distribute parallel for map(tofrom : v[0 : n]) map(to : f)
    for (int i = 0; i < n; i++)
        v[i] = f(v[i]);
}

struct Line {
    int factor, offset;
    int operator()(int x) const
    {
        return x * factor + offset;
    }
};

int main()
{
    int v[32];
    for (int i = 0; i < 32; i++)
        v[i] = i;
    apply(v, 32, Line{3, 7});
    for (int i = 0; i < 32; i++)
        EXPECT(v[i], 3 * i + 7);
    int table[4] = {10, 20, 30, 40};
    auto look = [&table](int i) { return table[i % 4]; };
    int got = 0;
#pragma omp target map(to : look, table) map(from : got)
    got = look(2);
    EXPECT(got, 30);
    return finish();
}
