/* Constructors on the device run once, before the first region, and destructors when the
   process ends. The constructors here count themselves in a variable of the image, and the
   destructors print it.
   only: stand-in
   output: destructed, of 1 */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

int constructed;
#pragma omp declare target to(constructed)

struct data {
    int initial;
    int found;
};

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
