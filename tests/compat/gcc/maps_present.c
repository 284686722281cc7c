/* Variables that an outer construct has mapped: the host region uses the host's variables, and
   only "always" copies. */
#include "check.h"
#pragma omp requires reverse_offload

enum { N = 8 };

static int to[N], from[N], tofrom[N], alloc[N], always_to[N], always_from[N], always_tofrom[N];
static int plain[N];

static void set(int *v, int base)
{
    for (int i = 0; i < N; i++)
        v[i] = base + i;
}

#define EACH(v, base)                                                                              \
    for (int i_ = 0; i_ < N; i_++)                                                                 \
    EXPECT(v[i_], (base) + i_)

static void look_and_change(void)
{
    /* The host's own values, except those that "always" copied from the device. */
    if (on_device()) {
        EACH(to, 100);
        EACH(from, 200);
        EACH(tofrom, 300);
        EACH(alloc, 400);
        EACH(always_from, 600);
        EACH(plain, 800);
    }
    EACH(always_to, 5000);
    EACH(always_tofrom, 7000);
    set(to, 10);
    set(from, 20);
    set(tofrom, 30);
    set(alloc, 40);
    set(always_to, 50);
    set(always_from, 60);
    set(always_tofrom, 70);
    set(plain, 80);
}

int main(void)
{
    int initial = -1;
    int device_to, device_tofrom, device_plain, device_always_to;
    int device_always_from, device_always_tofrom;
    set(to, 100);
    set(from, 200);
    set(tofrom, 300);
    set(alloc, 400);
    set(always_to, 500);
    set(always_from, 600);
    set(always_tofrom, 700);
    set(plain, 800);
#pragma omp target map(from : initial) map(alloc : alloc) map(to : to, from, tofrom, plain)        \
    map(to : always_to, always_from, always_tofrom)                                                \
    map(from : device_to, device_tofrom, device_plain, device_always_to)                           \
    map(from : device_always_from, device_always_tofrom)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < N; i++) {
            to[i] = 1000 + i;
            from[i] = 2000 + i;
            tofrom[i] = 3000 + i;
            alloc[i] = 4000 + i;
            always_to[i] = 5000 + i;
            always_from[i] = 6000 + i;
            always_tofrom[i] = 7000 + i;
            plain[i] = 8000 + i;
        }
#pragma omp target device(ancestor : 1) map(to : to) map(from : from) map(tofrom : tofrom)         \
    map(alloc : alloc) map(always, to : always_to) map(always, from : always_from)                 \
    map(always, tofrom : always_tofrom) map(tofrom : plain)
        look_and_change();
        device_to = to[N - 1];
        device_tofrom = tofrom[N - 1];
        device_plain = plain[N - 1];
        device_always_to = always_to[N - 1];
        device_always_from = always_from[N - 1];
        device_always_tofrom = always_tofrom[N - 1];
    }
    EXPECT_ON_DEVICE(initial);
    if (on_device()) {
        EXPECT(device_to, 1000 + N - 1);
        EXPECT(device_tofrom, 3000 + N - 1);
        EXPECT(device_plain, 8000 + N - 1);
        EXPECT(device_always_to, 5000 + N - 1);
    }
    EXPECT(device_always_from, 60 + N - 1);
    EXPECT(device_always_tofrom, 70 + N - 1);
    /* Nothing is copied back at the end: the host's variables are as the host region left
       them. */
    EACH(to, 10);
    EACH(from, 20);
    EACH(tofrom, 30);
    EACH(alloc, 40);
    EACH(always_to, 50);
    EACH(always_from, 60);
    EACH(always_tofrom, 70);
    EACH(plain, 80);
    return finish();
}
