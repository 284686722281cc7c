/* Structures with pointers to further data: the pointers in the host's copy point to the host's
   copies, and the device's pointers are unchanged. */
#include "check.h"
#pragma omp requires reverse_offload

struct leaf {
    int count;
    int *values;
};

struct root {
    int number;
    struct leaf *leaf;
    double *weights;
};

static void twice(struct leaf *leaf)
{
    for (int i = 0; i < leaf->count; i++)
        leaf->values[i] *= 2;
}

int main(void)
{
    int initial = -1, same = 0;
    int values_after[6], count_after;
    double weights_after[3];
#pragma omp target map(from : initial, same, values_after, weights_after, count_after)
    {
        initial = omp_is_initial_device();
        int values[6];
        double weights[3] = {0.5, 1.5, 2.5};
        for (int i = 0; i < 6; i++)
            values[i] = 100 + i;
        struct leaf leaf = {6, values};
        struct root root = {7, &leaf, weights};

        /* A structure with a pointer. */
#pragma omp target device(ancestor : 1) map(tofrom : leaf) map(tofrom : leaf.values[:6])
        {
            EXPECT(leaf.count, 6);
            EXPECT(leaf.values[5], 105);
            twice(&leaf);
        }
        same = leaf.values == values;

        /* Only the member and its target. */
#pragma omp target device(ancestor : 1) map(tofrom : root.weights[:3]) map(to : root.number)
        for (int i = 0; i < 3; i++)
            root.weights[i] += root.number;
        same += root.weights == weights;

        /* Through a pointer to the structure. */
        struct leaf *p = &leaf;
#pragma omp target device(ancestor : 1) map(tofrom : p[:1]) map(tofrom : p->values[:3])
        {
            EXPECT(p->values[0], 200);
            p->values[0] = -1;
            p->values[2] = -3;
            p->count = 16;
        }
        same += leaf.values == values;
        for (int i = 0; i < 6; i++)
            values_after[i] = values[i];
        for (int i = 0; i < 3; i++)
            weights_after[i] = weights[i];
        count_after = leaf.count;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(same, 3);
    EXPECT(count_after, 16);
    for (int i = 0; i < 6; i++)
        EXPECT(values_after[i], i == 0 ? -1 : i == 2 ? -3 : 2 * (100 + i));
    for (int i = 0; i < 3; i++)
        EXPECT_REAL(weights_after[i], 7.5 + i);
    return finish();
}
