/* More memory than the device has: an allocation of the program's own may fail, and the program
   continues; a mapping must succeed. */
#include "check.h"
#pragma omp requires reverse_offload

enum { SIZE = 64 << 20 };

static int calls;

static void called(char c)
{
    calls += c;
}

int main(void)
{
    int initial = -1;
    char *data = malloc(SIZE);
    if (!data)
        return 1;
    data[0] = 1;
    data[SIZE - 1] = 2;
    if (on_device())
        EXPECT(omp_target_alloc((size_t)1 << 50, omp_get_default_device()) == NULL, 1);
#pragma omp target map(from : initial) map(tofrom : data[:SIZE])
    {
        initial = omp_is_initial_device();
        char sum = data[0] + data[SIZE - 1];
#pragma omp target device(ancestor : 1) firstprivate(sum)
        called(sum);
        data[SIZE / 2] = 5;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(calls, 3);
    EXPECT(data[SIZE / 2], 5);
    free(data);
    return finish();
}
