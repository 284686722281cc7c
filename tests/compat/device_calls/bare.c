/* The constructs that work in regions for GPUs according to docs/llvm.md, except calls of the
   host.
   only: emu */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

enum { COUNT = 100 };

#pragma omp begin declare target
int scale = 3;

static int scaled(int number)
{
    return scale * number;
}
#pragma omp end declare target

int main(void)
{
    int numbers[COUNT], sum = 0, add = 5;

    /* The check is that the memory is the device's. */
    if (omp_get_num_devices() == 0)
        return finish();
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
#pragma omp target data map(tofrom : numbers)
    {
        REGION(firstprivate(add))
        EACH(i, COUNT)
        numbers[i] = scaled(numbers[i]) + add;
#pragma omp target update from(numbers[10 : 5])
        EXPECT(numbers[12], 41);
        EXPECT(numbers[20], 20);
        scale = 2;
#pragma omp target update to(scale)
        REGION()
        EACH(i, COUNT)
        numbers[i] = scaled(numbers[i]);
    }
    for (int i = 0; i < COUNT; i++)
        EXPECT(numbers[i], 2 * (3 * i + 5));

    REGION(map(tofrom : sum) map(to : numbers))
    EACH(i, COUNT)
    {
#pragma omp atomic
        sum += numbers[i];
    }
    EXPECT(sum, 6 * (COUNT * (COUNT - 1) / 2) + 10 * COUNT);

    int device = omp_get_default_device(), host = omp_get_initial_device(), chained = 0;
    int *memory = omp_target_alloc(sizeof *memory, device);
    omp_target_memcpy(memory, &add, sizeof add, 0, 0, device, host);
    REGION(is_device_ptr(memory) nowait depend(out : chained))
    EACH(i, 1)
    *memory *= 7;
    REGION(is_device_ptr(memory) map(tofrom : chained) nowait depend(inout : chained))
    EACH(i, 1)
    chained = *memory + 1;
#pragma omp taskwait
    EXPECT(chained, 36);
    omp_target_free(memory, device);
    return finish();
}
