// Operators and conversions of a class, and a declared reduction for it.
#include <cstdio>

struct rational {
    long n, d;
    constexpr rational(long n = 0, long d = 1) : n(n), d(d) { reduce(); }
    constexpr void reduce() {
        long a = n < 0 ? -n : n, b = d;
        while (b) {
            long r = a % b;
            a = b;
            b = r;
        }
        if (a) {
            n /= a;
            d /= a;
        }
    }
    constexpr rational operator+(const rational &o) const { return {n * o.d + o.n * d, d * o.d}; }
    constexpr rational operator*(const rational &o) const { return {n * o.n, d * o.d}; }
    constexpr rational &operator+=(const rational &o) { return *this = *this + o; }
    constexpr rational operator-() const { return {-n, d}; }
    constexpr bool operator<(const rational &o) const { return n * o.d < o.n * d; }
    explicit constexpr operator double() const { return double(n) / double(d); }
};

#pragma omp declare reduction(+ : rational : omp_out += omp_in) initializer(omp_priv = rational())
#pragma omp declare reduction(max : rational : omp_out = omp_out < omp_in ? omp_in : omp_out) \
    initializer(omp_priv = rational(-1000))

int main() {
    rational sum, most(-1000), teams;
    #pragma omp target parallel for reduction(+ : sum) reduction(max : most)
    for (int i = 0; i < 60; i++) {
        sum += rational(i % 2 ? i : -i, 12);
        most = most < rational(i * 7 % 31, 5) ? rational(i * 7 % 31, 5) : most;
    }
    #pragma omp target teams distribute parallel for reduction(+ : teams)
    for (int i = 0; i < 200; i++)
        teams += rational(1, 2 << i % 4) * -rational(i % 3);
    double value = 0;
    #pragma omp target map(tofrom : value)
    {
        rational x(3, 4);
        for (int i = 0; i < 6; i++)
            x = x * rational(2, 3) + rational(1);
        value = double(x);
    }
    std::printf("%ld/%ld %ld/%ld %ld/%ld %.9f\n", sum.n, sum.d, most.n, most.d, teams.n, teams.d, value);
    return 0;
}
