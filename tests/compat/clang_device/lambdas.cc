// Lambdas that regions call: captures by value and by reference, generic lambdas, lambdas as
// arguments.
#include <cstdio>

template <typename F> void for_each(int n, int *out, F f) {
    #pragma omp target teams distribute parallel for map(from : out[0 : n])
    for (int i = 0; i < n; i++)
        out[i] = f(i);
}

template <typename F, typename G> auto compose(F f, G g) {
    return [=](auto x) { return f(g(x)); };
}

// Kernels have names that include the numbers of lambdas in their template. clang counts the
// lambdas of each function; on the device it does not count those of regions.
static void squares(int offset, int *out) {
    for_each(100, out, [=](int i) { return i * i + offset; });
}

int main() {
    int offset = 7, out[100];
    squares(offset, out);
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += out[i];
    #pragma omp target teams distribute parallel for map(from : out) firstprivate(offset)
    for (int i = 0; i < 50; i++) {
        auto twice = [](auto x) { return x * 2; };
        auto next = [offset](auto x) { return x + offset; };
        out[i] = compose(twice, compose(next, twice))(i);
    }
    for (int i = 0; i < 50; i++)
        sum = sum * 3 % 100003 + out[i];
    int inside = 0;
    #pragma omp target map(tofrom : inside)
    {
        int local = 3;
        auto add = [&](int x) { local += x; return local; };
        for (int i = 0; i < 5; i++)
            inside += add(i);
        auto fib = [](auto self, int n) -> int { return n < 2 ? n : self(self, n - 1) + self(self, n - 2); };
        inside = inside * 100 + fib(fib, 10);
    }
    std::printf("%ld %d\n", sum, inside);
    return 0;
}
