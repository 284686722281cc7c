// A user's library: policies and functors as types, with teams and threads inside.
#include <cstdio>

struct serial {};
struct threads {};
struct teams {};

template <typename F> double reduce(serial, int n, F f) {
    double s = 0;
    #pragma omp target map(tofrom : s)
    for (int i = 0; i < n; i++)
        s += f(i);
    return s;
}
template <typename F> double reduce(threads, int n, F f) {
    double s = 0;
    #pragma omp target parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += f(i);
    return s;
}
template <typename F> double reduce(teams, int n, F f) {
    double s = 0;
    #pragma omp target teams distribute parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += f(i);
    return s;
}

struct polynomial {
    double c[3];
    double operator()(double x) const { return c[0] + x * (c[1] + x * c[2]); }
};
template <typename F> struct strided {
    F f;
    int step;
    double operator()(int i) const { return i % step ? 0 : f(i); }
};

int main() {
    polynomial p{{1, .5, .25}};
    strided<polynomial> s{p, 3};
    std::printf("%g %g %g\n", reduce(serial(), 100, p), reduce(threads(), 100, p), reduce(teams(), 100, p));
    std::printf("%g %g %g\n", reduce(serial(), 99, s), reduce(threads(), 99, s), reduce(teams(), 99, s));
    return 0;
}
