/* Constructors on the device run once, before the first region, and destructors when the
   process ends. They are functions of the program, which run on the host as well.
   output: destructed on the device, constructed 1 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

struct data {
    int initial;
    int found;
};

#pragma omp begin declare target
int constructed;

__attribute__((constructor)) static void construct(void)
{
    constructed++;
}

__attribute__((destructor)) static void destruct(void)
{
    if (!omp_is_initial_device())
        printf("destructed on the device, constructed %d\n", constructed);
}
#pragma omp end declare target

__attribute__((noinline)) static void ask(struct data *answer)
{
    struct data data = {-1, -1};
#pragma omp target map(tofrom : data)
    {
        data.initial = omp_is_initial_device();
        data.found = constructed;
    }
    *answer = data;
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        struct data data;
        ask(&data);
        EXPECT_ON_DEVICE(data.initial);
        EXPECT(data.found, 1);
    }
    return finish();
}
