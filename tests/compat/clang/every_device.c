/* All devices, each with its own data.
   report: free */
#include "check.h"

int main(void)
{
    int a[4] = {1, 2, 3, 4};
    for (int d = 0; d < omp_get_num_devices(); d++) {
        int got = -1, initial = -1;
        a[0] = d;
#pragma omp target enter data map(to : a) device(d)
        a[0] = -1;
#pragma omp target map(from : got, initial) device(d)
        {
            got = a[0];
            initial = omp_is_initial_device();
        }
        EXPECT(got, d);
        EXPECT_ON_DEVICE(initial);
        EXPECT(omp_target_is_present(a, d), 1);
#pragma omp target exit data map(delete : a) device(d)
        EXPECT(omp_target_is_present(a, d), 0);
    }
    EXPECT(omp_get_initial_device(), omp_get_num_devices());
    return finish();
}
