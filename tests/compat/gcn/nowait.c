/* Kernels that run concurrently, each with its own queue: their host regions wait for each
   other.
   stock: any */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { KERNELS = 4 };

struct data {
    int initial;
    int met;
};

static int here;

static int meet(void)
{
    __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
    return arrived(&here, KERNELS);
}

int main(void)
{
    struct data data[KERNELS];
    for (int k = 0; k < KERNELS; k++) {
        struct data *mine = &data[k];
        mine->initial = mine->met = -1;
#pragma omp target nowait map(tofrom : mine[0])
        {
            int met = 0;
            mine->initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1) map(from : met)
            met = meet();
            mine->met = met;
        }
    }
#pragma omp taskwait
    for (int k = 0; k < KERNELS; k++) {
        EXPECT_ON_DEVICE(data[k].initial);
        EXPECT(data[k].met, 1);
    }
    return finish();
}
