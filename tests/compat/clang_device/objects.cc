// Objects on the device: constructors, destructors, moves, static members, references.
#include <cstdio>
#include <utility>

#pragma omp begin declare target
static int alive;
struct owner {
    static int made;
    int *value;
    explicit owner(int v) : value(new int(v)) { made++, alive++; }
    owner(owner &&o) : value(o.value) { o.value = nullptr; alive++; }
    owner(const owner &o) : owner(*o.value) {}
    owner &operator=(owner &&o) {
        std::swap(value, o.value);
        return *this;
    }
    ~owner() {
        delete value;
        alive--;
    }
    int &get() { return *value; }
};
int owner::made = 0;
static owner twice(const owner &o) {
    owner result(o);
    result.get() *= 2;
    return result;
}
#pragma omp end declare target

int main() {
    int result = 0, made = -1, left = -1;
    #pragma omp target map(tofrom : result) map(from : made, left)
    {
        {
            owner a(5), b = twice(std::move(a)), c = b;
            int &inside = c.get();
            inside += 100;
            a = twice(c);
            result = a.get() * 1000 + b.get() + c.get();
            owner *many[4];
            for (int i = 0; i < 4; i++)
                many[i] = new owner(i);
            for (int i = 0; i < 4; i++) {
                result += many[i]->get();
                delete many[i];
            }
        }
        made = owner::made;
        left = alive;
    }
    std::printf("%d %d %d\n", result, made, left);
    return 0;
}
