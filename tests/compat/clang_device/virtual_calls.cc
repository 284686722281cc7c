// Virtual calls of objects that are made on the device: several bases, overriding, destructors.
#include <cstdio>

#pragma omp begin declare target
struct shape {
    virtual double area() const = 0;
    virtual int corners() const { return 0; }
    virtual ~shape() {}
};
struct square : shape {
    double side;
    square(double s) : side(s) {}
    double area() const override { return side * side; }
    int corners() const override { return 4; }
};
struct circle : shape {
    double radius;
    circle(double r) : radius(r) {}
    double area() const override { return 3 * radius * radius; }
};
struct named {
    int name = 5;
    virtual int tag() const { return name; }
};
struct cube final : square, named {
    cube(double s) : square(s) { name = 8; }
    double area() const override { return 6 * square::area(); }
    int tag() const override { return name * 10 + corners(); }
};
static double weigh(const shape &s) { return s.area() + s.corners(); }
#pragma omp end declare target

int main() {
    double total = 0;
    int tags = 0;
    #pragma omp target map(tofrom : total, tags)
    {
        square a(2);
        circle b(3);
        cube c(1.5);
        const shape *all[] = {&a, &b, &c};
        for (const shape *s : all)
            total += weigh(*s);
        const named *n = &c;
        tags = n->tag() + named().tag();
    }
    double many = 0;
    #pragma omp target teams distribute parallel for reduction(+ : many)
    for (int i = 0; i < 90; i++) {
        square a(i);
        circle b(i);
        cube c(i);
        const shape *s = i % 3 == 0 ? static_cast<shape *>(&a) : i % 3 == 1 ? static_cast<shape *>(&b) : &c;
        many += weigh(*s);
    }
    std::printf("%g %d %g\n", total, tags, many);
    return 0;
}
