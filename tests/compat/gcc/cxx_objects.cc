// Classes, templates, references and lambdas in device code; containers, strings and
// exceptions in host functions.
// since: 14
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
#include "check.h"
#pragma omp requires reverse_offload

namespace {

std::map<int, std::string> names;

int name_of(int number, const char *text, int length)
{
    std::string name(text, length);
    std::reverse(name.begin(), name.end());
    names[number] = name;
    return static_cast<int>(name.size());
}

int how_many()
{
    return static_cast<int>(names.size());
}

// An exception that is caught within host functions.
int caught(int what)
{
    try {
        if (what > 1)
            throw std::runtime_error("more than one");
        return 0;
    } catch (const std::exception &error) {
        return static_cast<int>(std::string(error.what()).size());
    }
}

template <typename T> void sort_all(T *first, int count)
{
    std::vector<T> copy(first, first + count);
    std::sort(copy.begin(), copy.end());
    std::copy(copy.begin(), copy.end(), first);
}

#pragma omp declare target
template <typename T, int N> class Row {
public:
    // Without a constructor: without optimisation GCC gives one two names, which nvptx does not
    // support.
    void fill(T start)
    {
        for (int i = 0; i < N; i++)
            items[i] = start + static_cast<T>(i * 7 % N);
    }

    // A call of a member function: the object is passed by "this".
    void sort()
    {
#pragma omp target device(ancestor : 1) map(tofrom : items)
        sort_all(items, N);
    }

    bool is_sorted() const
    {
        for (int i = 1; i < N; i++)
            if (items[i - 1] > items[i])
                return false;
        return true;
    }

    T items[N];
};

int length_by_reference(const int &number)
{
    char text[] = "reversed";
    int length = -1, &result = length;
#pragma omp target device(ancestor : 1) map(to : text, number) map(from : result)
    result = name_of(number, text, 8);
    return length;
}
#pragma omp end declare target

} // namespace

int main()
{
    int initial = -1, sorted = 0, length = 0, of_error = 0, of_lambda = 0;
    double lowest = 0;
#pragma omp target map(from : initial, sorted, length, of_error, of_lambda, lowest)
    {
        initial = omp_is_initial_device();
        Row<double, 11> row;
        Row<int, 5> other;
        row.fill(0.5);
        other.fill(-3);
        bool before = row.is_sorted();
        row.sort();
        other.sort();
        sorted = !before && row.is_sorted() && other.is_sorted();
        lowest = row.items[0];
        length = length_by_reference(12);
        int thrown = -1;
#pragma omp target device(ancestor : 1) map(from : thrown)
        thrown = caught(2);
        of_error = thrown;
        auto lambda = [](int base) {
            int value = base;
#pragma omp target device(ancestor : 1) map(tofrom : value)
            value += how_many();
            return value;
        };
        of_lambda = lambda(40);
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(sorted, 1);
    EXPECT_REAL(lowest, 0.5);
    EXPECT(length, 8);
    EXPECT(names[12] == "desrever", 1);
    EXPECT(of_error, 13);
    EXPECT(of_lambda, 41);
    return finish();
}
