// Derived classes: static polymorphism, mixins, virtual bases, members called through pointers.
#include <cstdio>

template <typename D> struct counted {
    int steps = 0;
    int run(int n) {
        int total = 0;
        for (int i = 0; i < n; i++, steps++)
            total += static_cast<D *>(this)->step(i);
        return total;
    }
};
struct squares : counted<squares> {
    int step(int i) { return i * i; }
};
struct sum : counted<sum> {
    int state = 1;
    int step(int i) { return state += i; }
};

struct base {
    int id;
    explicit base(int id = 1) : id(id) {}
};
struct left : virtual base {
    int l = 2;
    int value() const { return id * 10 + l; }
};
struct right : virtual base {
    int r = 3;
    int value() const { return id * 100 + r; }
};
struct both : left, right {
    explicit both(int id) : base(id) {}
    int value() const { return left::value() + right::value(); }
};

int main() {
    int out[48], alone = 0;
    #pragma omp target teams distribute parallel for map(from : out)
    for (int i = 0; i < 48; i++) {
        squares a;
        sum b;
        int (sum::*member)(int) = &sum::step;
        out[i] = a.run(i % 7) + b.run(i % 5) * 10 + a.steps + (b.*member)(i);
    }
    #pragma omp target map(tofrom : alone)
    {
        both b(7);
        const right &r = b;
        int left::*field = &left::l;
        b.*field = 9;
        alone = b.value() + r.value();
    }
    long sum = 0;
    for (int i = 0; i < 48; i++)
        sum = (sum * 31 + out[i]) % 1000003;
    std::printf("%ld %d\n", sum, alone);
    return 0;
}
