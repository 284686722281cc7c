/* What a kernel prints, of all types and with calls between: in the order in which it does.
   output: n = -7
   output: d 2.500000
   output: first second
   output: half of a line, the other half
   output: called 1 after: n = -7
   output: the last words */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

struct data {
    int initial;
};

static void called(int n)
{
    printf("called %d after: ", n);
    fflush(stdout);
}

int main(void)
{
    struct data data = {-1};
#pragma omp target map(tofrom : data)
    {
        int n = 1;
        data.initial = omp_is_initial_device();
        printf("n = %d\n", -7);
#pragma omp target device(ancestor : 1) firstprivate(n)
        called(n);
        printf("n = %d\n", -7);
    }
    EXPECT_ON_DEVICE(data.initial);
    return finish();
}
