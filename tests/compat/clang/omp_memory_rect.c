/* Copies of blocks, and asynchronous copies.
   report: free */
#include "check.h"
#include <string.h>

int main(void)
{
    int device = omp_get_default_device(), host = omp_get_initial_device();
    int a[6][8], b[5][5];
    size_t volume[2] = {3, 4}, to[2] = {1, 2}, from[2] = {2, 1}, zero[2] = {0, 0};
    size_t size_a[2] = {6, 8}, size_d[2] = {7, 9}, size_b[2] = {5, 5};
    int *d = omp_target_alloc(7 * 9 * sizeof(int), device);
    for (int i = 0; i < 48; i++)
        a[i / 8][i % 8] = i;
    memset(b, 0, sizeof b);
    EXPECT(omp_target_memcpy_rect(d, a, sizeof(int), 2, volume, to, from, size_d, size_a, device, host), 0);
    EXPECT(omp_target_memcpy_rect(b, d, sizeof(int), 2, volume, zero, to, size_b, size_d, host, device), 0);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            EXPECT(b[i][j], i < 3 && j < 4 ? (i + 2) * 8 + j + 1 : 0);
    omp_depend_t nothing[1];
    int x[64], y[64];
    for (int i = 0; i < 64; i++)
        x[i] = 3 * i;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        EXPECT(omp_target_memcpy_async(d, x, 63 * sizeof(int), 0, 0, device, host, 0, NULL), 0);
#pragma omp taskwait
        EXPECT(omp_target_memcpy_async(y, d, 63 * sizeof(int), 0, 0, host, device, 0, nothing), 0);
#pragma omp taskwait
    }
    for (int i = 0; i < 63; i++)
        EXPECT(y[i], 3 * i);
    omp_target_free(d, device);
    return finish();
}
