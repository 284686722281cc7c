// Member functions with regions: `this` and its members are mapped, also through base classes.
#include <cstdio>

class field {
protected:
    int n;
    double *data, scale = 2;

public:
    field(int n) : n(n), data(new double[n]) {
        for (int i = 0; i < n; i++)
            data[i] = i;
        #pragma omp target enter data map(to : this[0 : 1], data[0 : n])
    }
    ~field() {
        #pragma omp target exit data map(delete : data[0 : n], this[0 : 1])
        delete[] data;
    }
    void add(double x) {
        #pragma omp target teams distribute parallel for
        for (int i = 0; i < n; i++)
            data[i] = data[i] * scale + x;
    }
    double sum() const {
        double s = 0;
        #pragma omp target teams distribute parallel for reduction(+ : s)
        for (int i = 0; i < n; i++)
            s += data[i];
        return s;
    }
    void set_scale(double x) {
        scale = x;
        #pragma omp target update to(scale)
    }
};

struct shifted : field {
    int by;
    shifted(int n, int by) : field(n), by(by) {}
    double at(int i) {
        double x = 0;
        int where = (i + by) % n;
        double *p = data;
        #pragma omp target map(from : x)
        x = p[where];
        return x;
    }
};

int main() {
    shifted f(200, 5);
    f.add(1);
    double first = f.sum();
    f.set_scale(.5);
    f.add(3);
    std::printf("%g %g %g %g\n", first, f.sum(), f.at(0), f.at(199));
    return 0;
}
