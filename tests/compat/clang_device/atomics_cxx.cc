// Constructs in templates and members: atomics, critical sections, reductions of members.
#include <cstdio>

template <typename T> struct accumulator {
    T total = 0;
    int calls = 0;
    void add(T x) {
        #pragma omp atomic
        total += x;
        #pragma omp atomic update
        calls++;
    }
};

template <typename T, int N> T largest(const T (&values)[N]) {
    T best = values[0];
    #pragma omp target parallel for map(to : values) reduction(max : best)
    for (int i = 0; i < N; i++)
        best = values[i] > best ? values[i] : best;
    return best;
}

int main() {
    accumulator<double> a;
    accumulator<long> b;
    #pragma omp target teams distribute parallel for map(tofrom : a, b)
    for (int i = 0; i < 150; i++) {
        a.add(i * .5);
        b.add(i % 4);
    }
    int list[64], length = 0;
    #pragma omp target parallel for map(tofrom : length) map(from : list)
    for (int i = 0; i < 64; i++) {
        auto push = [&](int x) {
            #pragma omp critical(push)
            list[length++] = x;
        };
        push(i * 2);
    }
    long sum = 0;
    for (int i = 0; i < length; i++)
        sum += list[i];
    int ints[] = {3, 9, 4};
    double doubles[] = {.5, -1, 8.25, 2};
    std::printf("%g %d %ld %d %d %ld %d %g\n", a.total, a.calls, b.total, b.calls, length, sum,
                largest(ints), largest(doubles));
    return 0;
}
