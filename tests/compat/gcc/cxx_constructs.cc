/* C++ in and around target regions: loops over iterators and ranges, templates, lambdas, members,
   objects with constructors and destructors, reductions of classes and by member functions,
   recursion of templates and of lambdas.
   compare: host
   offload: -latomic
   offload: -malias
   offload: -mptx=7.0 */
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numeric>
#include <tuple>
#include "check.h"

#pragma omp declare target
template <typename T, int N>
struct vector {
    T at[N];
    vector() : at() {}
    explicit vector(T all)
    {
        for (T &one : at)
            one = all;
    }
    T &operator[](int i) { return at[i]; }
    const T &operator[](int i) const { return at[i]; }
    T *begin() { return at; }
    T *end() { return at + N; }
    vector &operator+=(const vector &by)
    {
        for (int i = 0; i < N; i++)
            at[i] += by[i];
        return *this;
    }
};

template <typename T, int N>
T dot(const vector<T, N> &a, const vector<T, N> &b)
{
    T sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Without virtual functions: GCC 14 omits their tables from images. */
template <typename Own>
struct shape {
    int id;
    explicit shape(int id) : id(id) {}
    double twice() const { return 2 * static_cast<const Own *>(this)->area(); }
};
struct square : shape<square> {
    double side;
    square(int id, double side) : shape(id), side(side) {}
    double area() const { return side * side; }
};
struct circle final : shape<circle> {
    double radius;
    circle(int id, double radius) : shape(id), radius(radius) {}
    double area() const { return 3 * radius * radius; }
};

/* Counts constructions and destructions in the given counter. */
struct counted {
    int *made, *gone;
    counted(int *made, int *gone) : made(made), gone(gone)
    {
#pragma omp atomic
        ++*made;
    }
    ~counted()
    {
#pragma omp atomic
        ++*gone;
    }
};

/* Not std::sort: without optimisation, GCC 14 omits constructors that it calls from the
   image. */
template <typename T, typename F>
void sort(T *at, int n, F before)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && before(at[k], at[k - 1]); k--)
            std::swap(at[k], at[k - 1]);
}

template <int N>
struct power {
    static long of(long x) { return x * power<N - 1>::of(x) % 1000003; }
};
template <>
struct power<0> {
    static long of(long) { return 1; }
};

template <typename F>
__attribute__((noinline)) long fold(F f, int n, long first)
{
    return n == 0 ? first : f(fold(f, n - 1, first), n);
}

struct extent {
    int least, most;
    void take(int x)
    {
        least = std::min(least, x);
        most = std::max(most, x);
    }
    void join(const extent &by)
    {
        least = std::min(least, by.least);
        most = std::max(most, by.most);
    }
};
#pragma omp end declare target

#pragma omp declare reduction(+ : vector<int, 4> : omp_out += omp_in)
#pragma omp declare reduction(join : extent : omp_out.join(omp_in)) \
    initializer(omp_priv = extent{1 << 30, -(1 << 30)})

/* Members of a class as data of regions in its member functions. */
class field {
    enum { N = 50 };
    double at[N];
    int step;

public:
    explicit field(int step) : step(step) { std::iota(at, at + N, 0.0); }
    void advance()
    {
#pragma omp target teams distribute parallel for map(tofrom : at) num_teams(2)
        for (int i = 0; i < N; i++)
            at[i] = at[i] * 2 + step;
    }
    template <typename F>
    double sum(F weigh)
    {
        double all = 0;
#pragma omp target parallel for simd reduction(+ : all) map(tofrom : all)
        for (int i = 0; i < N; i++)
            all += weigh(at[i]);
        return all;
    }
};

template <typename T>
static T over(T n)
{
    T sum = 0;
#pragma omp target teams distribute parallel for simd reduction(+ : sum) map(tofrom : sum)
    for (T i = 0; i < n; ++i)
        sum += i * i;
    return sum;
}

int main()
{
    enum { N = 100 };
    int initial = -1;
    int numbers[N], made = 0, gone = 0;
    long folded = 0, powers[6];
    double areas = 0;
    int corners = 0;
    double products[4];
    std::iota(numbers, numbers + N, 1);
#pragma omp target map(from : initial, powers, folded, products) map(tofrom : areas, corners, made, gone, numbers)
    {
        initial = omp_is_initial_device();
        vector<double, 5> a(1.5), b;
        for (int i = 0; i < 5; i++)
            b[i] = i * a[i];
        a += b;
        products[0] = dot(a, b);
        vector<int, 3> whole(7);
        products[1] = dot(whole, whole);
        std::complex<double> z(1, 2);
        z *= z + 1.0;
        products[2] = z.real();
        products[3] = z.imag() + std::norm(z);
        square one(4, 2.5);
        circle two(7, 1.5);
        areas += one.twice() + two.twice();
        corners += one.id * two.id;
        powers[0] = power<0>::of(3);
        powers[1] = power<1>::of(3);
        powers[2] = power<7>::of(12);
        powers[3] = power<30>::of(5);
        int by = 3;
        auto add = [by](long so_far, int k) { return (so_far * by + k) % 99991; };
        folded = fold(add, 40, 2);
        powers[4] = fold([&](long so_far, int k) { return so_far + by++ * k; }, 10, 1);
        powers[5] = by;
        sort(numbers, N, [](int x, int y) { return x * 37 % 101 < y * 37 % 101; });
        for (int i = 0; i < 5; i++)
            counted it(&made, &gone);
        std::tuple<int, double> pair(made, areas);
        std::array<int, 3> some = {{1, 2, 3}};
        areas += std::get<0>(pair) + std::get<1>(pair) + std::accumulate(some.begin(), some.end(), 0);
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(made, gone);
    printf("%ld %g %d %d", folded, areas, corners, made);
    for (long one : powers)
        printf(" %ld", one);
    for (double one : products)
        printf(" %g", one);
    for (int one : numbers)
        printf(" %d", one);
    puts("");

    /* Iterators and ranges; private objects of a class with constructors. */
    std::array<int, N> list;
    std::iota(list.begin(), list.end(), 0);
    int *data = list.data();
#pragma omp target teams distribute parallel for map(tofrom : data[0 : N])
    for (int *at = data; at < data + N; at += 2)
        *at = *at * 3 + 1;
    printf("%d\n", std::accumulate(list.begin(), list.end(), 0));
    int plain[N];
#pragma omp target parallel for map(from : plain)
    for (int &one : plain)
        one = int(&one - plain) * 5;
    printf("%d\n", std::accumulate(plain, plain + N, 0));

    vector<int, 4> sums(1);
    extent all = {1000, -1000};
    vector<double, 3> start(2.5);
    double used = 0;
#pragma omp target parallel for num_threads(5) map(tofrom : sums, all) reduction(+ : sums) reduction(join : all)
    for (int i = 0; i < N; i++) {
        vector<int, 4> one(i);
        one[i % 4] = -i;
        sums += one;
        all.take(i * 37 % N - 30);
    }
#pragma omp target teams distribute parallel for num_teams(3) thread_limit(4) firstprivate(start) \
    map(tofrom : used, sums, all) reduction(+ : used, sums) reduction(join : all)
    for (int i = 0; i < N; i++) {
        start[1] = i;
        used += start[0] + start[1];
        sums[i & 3] += i;
        all.take(i * 41 % N + 40);
    }
    printf("%d %d %d %d %d %d %g\n", sums[0], sums[1], sums[2], sums[3], all.least, all.most, used);

    field it(4);
    it.advance();
    it.advance();
    double factor = 0.5;
    printf("%g %g\n", it.sum([=](double x) { return x * factor; }), it.sum([](double x) { return std::fmod(x, 8.0); }));
    printf("%d %u %lld\n", over(57), over(100u), over(200LL));
    /* GCC 14 has no libatomic for AMD GPUs. */
#ifndef COMPAT_AMD
    printf("%d\n", int(over<short>(30)));
#endif

    return finish();
}
