/* Memory that the kernel itself allocates, passed to a host region. The driver cannot copy it: the
   program ends with an error that names the address.
   ends: error
   output: cannot call host function
   output: memory that a kernel allocated
   amd: no, their heap is memory that the host can copy */
#include "check.h"
#pragma omp requires reverse_offload

static void look(int *v, int n)
{
    for (int i = 0; i < n; i++) {
        EXPECT(v[i], 7 * i);
        v[i] = -v[i];
    }
}

int main(void)
{
    int initial = -1, wrong = -1;
#pragma omp target map(from : initial, wrong)
    {
        initial = omp_is_initial_device();
        int n = 300;
        int *v = malloc(n * sizeof *v);
        wrong = v == NULL;
        if (v) {
            for (int i = 0; i < n; i++)
                v[i] = 7 * i;
#pragma omp target device(ancestor : 1) map(tofrom : v[:n]) firstprivate(n)
            look(v, n);
            for (int i = 0; i < n; i++)
                wrong += v[i] != -7 * i;
            free(v);
        }
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(wrong, 0);

    /* Memory of OpenMP's allocators as well, one of which uses the team's memory. */
    wrong = -1;
#pragma omp target map(from : wrong)
    {
        int bad = 0;
        int *v = omp_alloc(40 * sizeof *v, omp_default_mem_alloc);
        int *low = omp_alloc(10 * sizeof *low, omp_low_lat_mem_alloc);
        for (int i = 0; i < 40; i++)
            v[i] = 7 * i;
        for (int i = 0; i < 10; i++)
            low[i] = 7 * i;
#pragma omp target device(ancestor : 1) map(tofrom : v[:40])
        look(v, 40);
#pragma omp target device(ancestor : 1) map(tofrom : low[:10])
        look(low, 10);
        for (int i = 0; i < 40; i++)
            bad += v[i] != -7 * i;
        for (int i = 0; i < 10; i++)
            bad += low[i] != -7 * i;
        omp_free(v, omp_default_mem_alloc);
        omp_free(low, omp_low_lat_mem_alloc);
        wrong = bad;
    }
    EXPECT(wrong, 0);
    return finish();
}
