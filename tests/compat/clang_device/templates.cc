// Templates: of functions and classes, with values, packs and specialisations.
#include <cstdio>

template <typename T, int N> struct vector {
    T v[N];
    T &operator[](int i) { return v[i]; }
    const T &operator[](int i) const { return v[i]; }
    template <typename F> vector map(F f) const {
        vector r;
        for (int i = 0; i < N; i++)
            r[i] = f(v[i]);
        return r;
    }
};

template <typename T, int N> vector<T, N> operator+(const vector<T, N> &a, const vector<T, N> &b) {
    vector<T, N> r;
    for (int i = 0; i < N; i++)
        r[i] = a[i] + b[i];
    return r;
}

template <int N> struct factorial {
    static constexpr long value = N * factorial<N - 1>::value;
};
template <> struct factorial<0> {
    static constexpr long value = 1;
};

template <typename... T> auto sum(T... values) { return (values + ... + 0); }

template <typename T> T run(int n) {
    T total = 0;
    #pragma omp target teams distribute parallel for reduction(+ : total)
    for (int i = 0; i < n; i++) {
        vector<T, 4> a{{T(i), T(i + 1), T(2), T(3)}}, b{{T(1), T(1), T(1), T(i % 5)}};
        auto c = (a + b).map([=](T x) { return x * T(2) + T(i % 3); });
        total += sum(c[0], c[1], c[2], c[3]) + T(factorial<5>::value);
    }
    return total;
}

int main() {
    std::printf("%d %ld %g %g\n", run<int>(100), run<long>(1000), run<float>(64), run<double>(500));
    return 0;
}
