/* Virtual functions, constants and linked variables in memory that host and device share:
   the image has a pointer to each of them, whatever their size.
   report: sorted */
#include "check.h"
#pragma clang diagnostic ignored "-Wopenmp-mapping"
#pragma omp requires unified_shared_memory

struct shape {
    int side;
    virtual int area() { return side; }
    virtual int edges() { return 1; }
    virtual ~shape() {}
};

struct square : shape {
    int area() override { return side * side; }
};

#pragma omp declare target
int global = 3;
static int hidden = 4;
const int table[3] = {1, 2, 3};
int array[50] = {7};
#pragma omp end declare target

int linked[30] = {8};
#pragma omp declare target link(linked)

int main()
{
    int local = 0, shared = 0, sum = 0;
    global = 30;
    array[0] = 70;
    linked[0] = 80;
#pragma omp target map(from : local, sum)
    {
        square on_device;
        on_device.side = 4;
        shape *p = &on_device;
        local = p->area() + p->edges();
        sum = global + hidden + table[1] + array[0] + linked[0];
        array[1] = 5;
    }
    EXPECT(local, 17);
    EXPECT(sum, 186);
    EXPECT(array[1], 5);
    square on_host;
    on_host.side = 5;
#pragma omp target map(from : shared) map(tofrom : on_host)
    {
        shape *p = &on_host;
        shared = p->area();
    }
    EXPECT(shared, 25);
    return finish();
}
