/* The results of the functions for device memory with invalid arguments.
   output: Call to omp_target_memcpy with invalid arguments
   output: Call to omp_target_memcpy_rect with invalid arguments
   output: Call to omp_get_mapped_ptr with nullptr
   output: Call to omp_target_associate_ptr with invalid arguments
   output: no association possible on the host
   output: Not allowed to re-associate a different device ptr+offset with the same host ptr
   output: Call to omp_target_disassociate_ptr with invalid host_ptr
   output: Association not found
   output: Trying to disassociate a pointer which was not mapped via omp_target_associate_ptr */
#include "check.h"

int main(void)
{
    int device = omp_get_default_device(), host = omp_get_initial_device();
    char a[64], b[64], *d = omp_target_alloc(64, device);
    size_t v[2] = {2, 2}, o[2] = {0, 0}, dim[2] = {8, 8};
    EXPECT(omp_target_memcpy(NULL, a, 8, 0, 0, device, host), -1);
    EXPECT(omp_target_memcpy(d, NULL, 8, 0, 0, device, host), -1);
    EXPECT(omp_target_memcpy(d, a, 0, 0, 0, device, host), 0);
    EXPECT(omp_target_memcpy_rect(NULL, NULL, 1, 0, 0, 0, 0, 0, 0, host, host), 2147483647);
    EXPECT(omp_target_memcpy_rect(NULL, a, 1, 2, v, o, o, dim, dim, device, host), -1);
    EXPECT(omp_target_memcpy_rect(d, a, 1, -1, v, o, o, dim, dim, device, host), -1);
    EXPECT(omp_target_memcpy_rect(d, a, 0, 2, v, o, o, dim, dim, device, host), -1);
    EXPECT(omp_target_memcpy_rect(d, a, 1, 2, NULL, o, o, dim, dim, device, host), -1);
    EXPECT(omp_target_memset(NULL, 1, 8, device) == NULL, 1);
    EXPECT(omp_target_memset(d, 1, 0, device) == d, 1);
    EXPECT(omp_get_mapped_ptr(NULL, device) == NULL, 1);
    EXPECT(omp_get_mapped_ptr(a, 77) == NULL, 1);
    EXPECT(omp_target_associate_ptr(NULL, d, 8, 0, device), -1);
    EXPECT(omp_target_associate_ptr(a, NULL, 8, 0, device), -1);
    EXPECT(omp_target_associate_ptr(a, d, 0, 0, device), -1);
    EXPECT(omp_target_associate_ptr(a, d, 8, 0, host), -1);
    EXPECT(omp_target_associate_ptr(a, d, 8, 0, device), 0);
    EXPECT(omp_target_associate_ptr(a, d + 8, 8, 0, device), -1);
    EXPECT(omp_target_disassociate_ptr(NULL, device), -1);
    EXPECT(omp_target_disassociate_ptr(b, device), -1);
    EXPECT(omp_target_disassociate_ptr(a, device), 0);
    EXPECT(omp_target_disassociate_ptr(a, device), -1);
#pragma omp target enter data map(to : b)
    EXPECT(omp_target_disassociate_ptr(b, device), -1);
#pragma omp target exit data map(delete : b)
    EXPECT(omp_target_is_accessible(NULL, 8, device), 0);
    omp_target_free(d, device);
    return finish();
}
