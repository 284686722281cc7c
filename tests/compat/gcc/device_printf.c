/* Text that the device prints appears, with and without host regions.
   output: from the device: 17 and text
   output: after the host region: 18 */
#include "check.h"
#pragma omp requires reverse_offload

static void look(int v)
{
    EXPECT(v, 17);
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
        int v = 17;
        printf("from the device: %d and %s\n", v, "text");
#pragma omp target device(ancestor : 1)
        look(v);
        printf("after the host region: %d\n", v + 1);
    }
    EXPECT_ON_DEVICE(initial);
    return finish();
}
