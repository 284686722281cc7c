// Range-based loops, user-defined iterators and views, on mapped memory and on a thread's own.
#include <cstdio>

struct range {
    int from, to, step;
    struct iterator {
        int at, step;
        int operator*() const { return at; }
        iterator &operator++() {
            at += step;
            return *this;
        }
        bool operator!=(const iterator &o) const { return at < o.at; }
    };
    iterator begin() const { return {from, step}; }
    iterator end() const { return {to, step}; }
};

template <typename T> class view {
    T *data;
    int rows, columns;

public:
    view(T *data, int rows, int columns) : data(data), rows(rows), columns(columns) {}
    T &operator()(int i, int j) const { return data[i * columns + j]; }
    view<T> lower() const { return {data + rows / 2 * columns, rows / 2, columns}; }
    int height() const { return rows; }
};

int main() {
    static double grid[16 * 8];
    double *p = grid;
    #pragma omp target teams distribute parallel for map(from : p[0 : 128])
    for (int i = 0; i < 16; i++) {
        view<double> v(p, 16, 8);
        for (int j : range{0, 8, 1})
            v(i, j) = i * 10 + j;
    }
    double sum = 0;
    #pragma omp target parallel for map(to : p[0 : 128]) reduction(+ : sum)
    for (int i = 0; i < 8; i++) {
        view<double> v = view<double>(p, 16, 8).lower();
        for (int j : range{i % 2, 8, 3})
            sum += v(i, j) * v.height();
    }
    int primes[] = {2, 3, 5, 7, 11}, product = 1;
    #pragma omp target map(tofrom : product)
    for (int x : primes)
        product = product * x + 1;
    std::printf("%g %g %d\n", grid[127], sum, product);
    return 0;
}
