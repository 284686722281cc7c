/* Pointers to unmapped data keep their value, including those that the host passes on. */
#include "check.h"

int main(void)
{
    int *p = malloc(40), *host = p, q0 = 0, same = -1, device = omp_get_default_device();
    p[0] = 3;
#pragma omp target map(from : same)
    same = p == host;
    EXPECT(same, 1);
#pragma omp target data use_device_ptr(p)
    EXPECT(p == host, 1);
#pragma omp target data use_device_addr(q0)
    q0 = 1;
    EXPECT(q0, 1);
    EXPECT(omp_get_mapped_ptr(p, device) == NULL, 1);
    EXPECT(omp_target_is_present(p, device), 0);
#pragma omp target exit data map(release : p[0 : 10])
#pragma omp target exit data map(delete : p[0 : 10])
#pragma omp target exit data map(from : p[0 : 10])
#pragma omp target update from(p[0 : 10])
#pragma omp target update to(p[0 : 10])
    EXPECT(p[0], 3);
    free(p);
    return finish();
}
