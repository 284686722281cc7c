/* Memory of the device: omp_target_alloc, memcpy, memset, is_present, associate. LLVM's library
   copies from device memory to device memory through the host's.
   report: copies */
#include "check.h"
#include <string.h>

int main(void)
{
    int device = omp_get_default_device(), host = omp_get_initial_device();
    int a[16], b[16], *d = omp_target_alloc(sizeof a, device), *e = omp_target_alloc(sizeof a, device);
    for (int i = 0; i < 16; i++)
        a[i] = i;
    EXPECT(d != NULL, 1);
    EXPECT(omp_target_memcpy(d, a, sizeof a, 0, 0, device, host), 0);
    EXPECT(omp_target_memcpy(e, d, 8 * sizeof(int), 0, 8 * sizeof(int), device, device), 0);
    EXPECT(omp_target_memset(e + 8, 0x11, 4 * sizeof(int), device) == e + 8, 1);
    memset(b, 0, sizeof b);
    EXPECT(omp_target_memcpy(b, e, 12 * sizeof(int), 4 * sizeof(int), 0, host, device), 0);
    for (int i = 0; i < 16; i++)
        EXPECT(b[i], i < 4 ? 0 : i < 12 ? i + 4 : 0x11111111);
    EXPECT(omp_target_memcpy(b, a, sizeof a, 0, 0, host, host), 0);
    EXPECT(b[15], 15);
    EXPECT(omp_target_is_present(a, device), 0);
    EXPECT(omp_target_is_present(a, host), 1);
    EXPECT(omp_target_is_present(NULL, device), 0);
    EXPECT(omp_get_mapped_ptr(a, host) == a, 1);
    EXPECT(omp_target_associate_ptr(a, d, sizeof a, 0, device), 0);
    EXPECT(omp_target_associate_ptr(a, d, sizeof a, 0, device), 0);
    EXPECT(omp_target_is_present(a + 15, device), 1);
    EXPECT(omp_target_is_present(a + 16, device), 0);
    EXPECT((int *)omp_get_mapped_ptr(a + 3, device) == d + 3, 1);
#pragma omp target map(alloc : a)
    a[2] = 200;
    EXPECT(a[2], 2);
#pragma omp target update from(a[2 : 1])
    EXPECT(a[2], 200);
    EXPECT(omp_target_disassociate_ptr(a, device), 0);
    EXPECT(omp_target_is_present(a, device), 0);
    EXPECT(omp_target_is_accessible(a, sizeof a, host), 1);
    EXPECT(omp_target_alloc(0, device) == NULL, 1);
    omp_target_free(d, device);
    omp_target_free(e, device);
    omp_target_free(NULL, device);
    return finish();
}
