/* Variables that are mapped implicitly: arrays and structures by default, scalars according to
   "defaultmap"; and variables that only the host region uses. */
#include "check.h"
#pragma omp requires reverse_offload

int main(void)
{
    int initial = -1, after[8] = {0};
#pragma omp target map(from : initial) map(tofrom : after)
    {
        initial = omp_is_initial_device();
        int array[4] = {1, 2, 3, 4}, scalar = 5, own = 6;
        struct {
            int x, y;
        } pair = {7, 8};
        /* Arrays and structures both ways, the scalar by value. */
#pragma omp target device(ancestor : 1) private(own)
        {
            own = 9;
            EXPECT(array[3], 4);
            EXPECT(pair.y, 8);
            EXPECT(scalar, 5);
            array[3] = 40 + own;
            pair.y = 80;
            scalar = 50;
        }
        after[0] = array[3];
        after[1] = pair.y;
        after[2] = scalar;
        after[3] = own;
#pragma omp target device(ancestor : 1) defaultmap(tofrom : scalar)                                \
    defaultmap(firstprivate : aggregate)
        {
            EXPECT(scalar, 5);
            EXPECT(array[3], 49);
            scalar = 55;
            array[3] = 0;
        }
        after[4] = scalar;
        after[5] = array[3];
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(after[0], 49);
    EXPECT(after[1], 80);
    EXPECT(after[2], 5);
    EXPECT(after[3], 6);
    EXPECT(after[4], 55);
    EXPECT(after[5], 49);
    return finish();
}
