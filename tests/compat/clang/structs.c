/* Complete structures, nested structures, and arrays of structures. */
#include "check.h"

struct inner {
    char tag;
    double value;
};
struct outer {
    int id;
    struct inner in[3];
    long tail;
};

int main(void)
{
    struct outer one = {1, {{'a', 1.5}, {'b', 2.5}, {'c', 3.5}}, 99}, many[5];
    for (int i = 0; i < 5; i++) {
        many[i] = one;
        many[i].id = i;
    }
#pragma omp target map(tofrom : one, many)
    {
        one.in[1].value *= 2;
        one.tail++;
        for (int i = 0; i < 5; i++) {
            many[i].id *= 10;
            many[i].in[2].tag += i;
        }
    }
    EXPECT_REAL(one.in[1].value, 5);
    EXPECT(one.tail, 100);
    for (int i = 0; i < 5; i++) {
        EXPECT(many[i].id, 10 * i);
        EXPECT(many[i].in[2].tag, 'c' + i);
    }
#pragma omp target map(tofrom : many[2 : 2])
    for (int i = 2; i < 4; i++)
        many[i].tail = 1000 + i;
    EXPECT(many[1].tail, 99);
    EXPECT(many[3].tail, 1003);
    EXPECT(many[4].tail, 99);
    return finish();
}
