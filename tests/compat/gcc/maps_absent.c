/* Variables of the device that the program has not mapped: copied according to the map
   types. */
#include "check.h"
#pragma omp requires reverse_offload

int main(void)
{
    int initial = -1, ok = 0;
    int got_to = 0, got_tofrom = 0, got_always_to = 0, got_always_tofrom = 0;
    int after_to = 0, after_from = 0, after_tofrom = 0, after_alloc = 0;
    int after_always_from = 0, after_always_tofrom = 0;
#pragma omp target map(from : initial) map(tofrom : ok, got_to, got_tofrom, got_always_to)         \
    map(tofrom : got_always_tofrom, after_to, after_from, after_tofrom, after_alloc)               \
    map(tofrom : after_always_from, after_always_tofrom)
    {
        initial = omp_is_initial_device();
        int to = 1, from = 2, tofrom = 3, alloc = 4, always_to = 5, always_from = 6;
        int always_tofrom = 7;
#pragma omp target device(ancestor : 1) map(to : to) map(from : from) map(tofrom : tofrom)         \
    map(alloc : alloc) map(always, to : always_to) map(always, from : always_from)                 \
    map(always, tofrom : always_tofrom) map(tofrom : ok, got_to, got_tofrom, got_always_to)        \
    map(tofrom : got_always_tofrom)
        {
            ok = 1;
            got_to = to;
            got_tofrom = tofrom;
            got_always_to = always_to;
            got_always_tofrom = always_tofrom;
            to = 10;
            from = 20;
            tofrom = 30;
            alloc = 40;
            always_to = 50;
            always_from = 60;
            always_tofrom = 70;
        }
        after_to = to;
        after_from = from;
        after_tofrom = tofrom;
        after_alloc = alloc;
        after_always_from = always_from;
        after_always_tofrom = always_tofrom;
    }
    EXPECT_ON_DEVICE(initial);
    /* A host region's writes to variables of the host itself reach these variables. The
       device's values, which did not get these writes, then overwrite them. */
    if (on_device()) {
        EXPECT(ok, 0);
        EXPECT(got_to, 0);
        EXPECT(after_to, 1);
        EXPECT(after_alloc, 4);
    }
    EXPECT(after_from, 20);
    EXPECT(after_tofrom, 30);
    EXPECT(after_always_from, 60);
    EXPECT(after_always_tofrom, 70);

    /* The same, copied back with "always". */
    int seen[4] = {0, 0, 0, 0};
#pragma omp target map(tofrom : seen)
    {
        int to = 1, tofrom = 3, always_to = 5, always_tofrom = 7;
#pragma omp target device(ancestor : 1) map(to : to) map(tofrom : tofrom)                          \
    map(always, to : always_to) map(always, tofrom : always_tofrom) map(always, tofrom : seen)
        {
            seen[0] = to;
            seen[1] = tofrom;
            seen[2] = always_to;
            seen[3] = always_tofrom;
        }
    }
    EXPECT(seen[0], 1);
    EXPECT(seen[1], 3);
    EXPECT(seen[2], 5);
    EXPECT(seen[3], 7);
    return finish();
}
