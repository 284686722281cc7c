/* Members of structures, each with a map type of its own. */
#include "check.h"
#pragma omp requires reverse_offload

struct record {
    char tag;
    int a;
    double b;
    int list[5];
    short c;
    struct {
        int x, y;
    } at;
};

static void look(const struct record *r, int base)
{
    EXPECT(r->a, base);
    EXPECT_REAL(r->b, base + 0.5);
    EXPECT(r->list[1], base + 1);
    EXPECT(r->list[3], base + 3);
}

int main(void)
{
    int initial = -1;
    struct record after, shared = {'h', 1, 1.5, {1, 2, 3, 4, 5}, 6, {7, 8}};
#pragma omp target map(from : initial, after) map(to : shared)
    {
        initial = omp_is_initial_device();
        struct record mine = {'d', 40, 40.5, {40, 41, 42, 43, 44}, 45, {46, 47}};
#pragma omp target device(ancestor : 1) map(tofrom : mine.a) map(to : mine.b, mine.list)           \
    map(from : mine.c) map(tofrom : mine.at)
        {
            look(&mine, 40);
            EXPECT(mine.at.x, 46);
            EXPECT(mine.at.y, 47);
            mine.a = 140;
            mine.b = 999;
            mine.list[2] = 999;
            mine.c = 145;
            mine.at.x = 146;
            mine.at.y = 147;
        }
        shared.a = 60;
        shared.b = 60.5;
        shared.list[1] = 61;
        shared.list[3] = 63;
        shared.c = 65;
        /* This one is mapped by the program. */
#pragma omp target device(ancestor : 1) map(always, tofrom : shared.a)                             \
    map(always, to : shared.b, shared.list) map(shared.c)
        {
            look(&shared, 60);
            if (on_device())
                EXPECT(shared.c, 6);
            shared.a = 160;
        }
        mine.tag = 'e';
        after = mine;
        after.list[0] = shared.a;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(after.tag, 'e');
    EXPECT(after.a, 140);
    EXPECT(after.c, 145);
    EXPECT(after.at.x, 146);
    EXPECT(after.at.y, 147);
    EXPECT(after.list[0], 160);
    EXPECT(after.list[4], 44);
    if (on_device()) {
        EXPECT_REAL(after.b, 40.5);
        EXPECT(after.list[2], 42);
    }
    /* "shared" is not copied back. */
    EXPECT(shared.a, 160);
    EXPECT_REAL(shared.b, 60.5);
    return finish();
}
