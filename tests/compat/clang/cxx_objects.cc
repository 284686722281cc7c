// Objects, their members through `this`, templates and references.
#include "check.h"
#include <vector>

template <typename T, int N> struct Field {
    T cells[N];
    T scale;
    void fill(T from)
    {
#pragma omp target teams distribute parallel for map(tofrom : this[0 : 1])
        for (int i = 0; i < N; i++)
            cells[i] = from + i * scale;
    }
    T sum() const
    {
        T total = 0;
#pragma omp target map(to : this[0 : 1]) map(tofrom : total)
        for (int i = 0; i < N; i++)
            total += cells[i];
        return total;
    }
};

template <typename T> static T twice(T x)
{
    T result;
#pragma omp target map(from : result)
    result = x + x;
    return result;
}

class Counter {
    int count = 0;

public:
    void add(int n)
    {
#pragma omp target map(tofrom : count)
        count += n;
    }
    int get() const
    {
        return count;
    }
};

int main()
{
    Field<int, 50> ints;
    Field<double, 20> reals;
    ints.scale = 3;
    reals.scale = 0.5;
    ints.fill(1);
    reals.fill(2);
    EXPECT(ints.sum(), 50 + 3 * 1225);
    EXPECT_REAL(reals.sum(), 40 + 95);
    EXPECT(twice(21), 42);
    EXPECT_REAL(twice(1.25), 2.5);
    Counter counter;
    counter.add(3);
    counter.add(4);
    EXPECT(counter.get(), 7);
    int x = 5, &r = x;
#pragma omp target map(tofrom : r)
    r += 10;
    EXPECT(x, 15);
    std::vector<int> v(100, 2);
    int *data = v.data(), n = (int)v.size();
#pragma omp target map(tofrom : data[0 : n])
    for (int i = 0; i < n; i++)
        data[i] *= i;
    EXPECT(v[99], 198);
    return finish();
}
