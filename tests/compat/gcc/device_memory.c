/* Device memory that the program allocates itself: copied from and to, and used by kernels
   and by their host regions. */
#include "check.h"
#pragma omp requires reverse_offload

enum { N = 64 };

int main(void)
{
    int device = omp_get_default_device(), host = omp_get_initial_device();
    int initial = -1, here[N], back[N];
    int *there = omp_target_alloc(N * sizeof(int), device);
    int *other = omp_target_alloc(N * sizeof(int), device);
    EXPECT(there != NULL, 1);
    EXPECT(other != NULL, 1);
    for (int i = 0; i < N; i++)
        here[i] = 3 * i;
    EXPECT(omp_target_memcpy(there, here, sizeof here, 0, 0, device, host), 0);
    /* From device to device, with an offset each. */
    EXPECT(omp_target_memcpy(other, there, (N - 8) * sizeof(int), 8 * sizeof(int), 0, device, device),
           0);
#pragma omp target is_device_ptr(there, other) map(from : initial)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < 8; i++)
            other[i] = -i;
        for (int i = 0; i < N; i++)
            there[i]++;
        /* The variable is not mapped, so the host region gets a copy. */
#pragma omp target device(ancestor : 1) map(tofrom : there[10 : 20])
        for (int i = 10; i < 30; i++) {
            EXPECT(there[i], 3 * i + 1);
            there[i] = -there[i];
        }
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(omp_target_memcpy(back, there, sizeof back, 0, 0, host, device), 0);
    for (int i = 0; i < N; i++)
        EXPECT(back[i], i >= 10 && i < 30 ? -(3 * i + 1) : 3 * i + 1);
    EXPECT(omp_target_memcpy(back, other, sizeof back, 0, 0, host, device), 0);
    for (int i = 0; i < N; i++)
        EXPECT(back[i], i < 8 ? -i : 3 * (i - 8));

    /* Blocks of two and three dimensions. */
    size_t volume2[2] = {3, 4}, at2[2] = {1, 2}, from2[2] = {0, 1}, size2[2] = {8, 8};
    EXPECT(omp_target_memcpy_rect(there, here, sizeof(int), 2, volume2, at2, from2, size2, size2, device,
                                  host),
           0);
    EXPECT(omp_target_memcpy(back, there, sizeof back, 0, 0, host, device), 0);
    EXPECT(back[8 + 2], here[1]);
    EXPECT(back[3 * 8 + 5], here[2 * 8 + 4]);
    EXPECT(back[3 * 8 + 6], 3 * 30 + 1);
    size_t volume3[3] = {2, 2, 3}, zero3[3] = {0, 0, 0}, at3[3] = {1, 1, 0}, size3[3] = {4, 4, 4};
    EXPECT(omp_target_memcpy_rect(other, there, sizeof(int), 3, volume3, zero3, at3, size3, size3, device,
                                  device),
           0);
    EXPECT(omp_target_memcpy_rect(back, other, sizeof(int), 3, volume3, at3, zero3, size3, size3, host,
                                  device),
           0);
    int whole[N];
    EXPECT(omp_target_memcpy(whole, there, sizeof whole, 0, 0, host, device), 0);
    for (int i = 1; i < 3; i++)
        for (int j = 1; j < 3; j++)
            for (int k = 0; k < 3; k++)
                EXPECT(back[16 * i + 4 * j + k], whole[16 * i + 4 * j + k]);
#if __GNUC__ >= 16
    EXPECT(omp_target_memset(there, 0x5a, 24, device) == there, 1);
    EXPECT(omp_target_memcpy(back, there, sizeof back, 0, 0, host, device), 0);
    EXPECT(back[5], 0x5a5a5a5a);
    EXPECT(back[6], whole[6]);
#endif

    /* Device memory that is associated with a variable. */
    static int variable[N];
    EXPECT(omp_target_is_present(variable, device), !on_device());
    EXPECT(omp_target_associate_ptr(variable, there, sizeof variable, 0, device), on_device() ? 0 : 22);
    if (on_device()) {
        EXPECT(omp_target_is_present(variable, device), 1);
        EXPECT(omp_get_mapped_ptr(variable, device) == there, 1);
#pragma omp target map(tofrom : variable)
        {
            variable[0] = 123;
            /* With "always", because GCC 14 to 16 do not find the host's variable. */
#pragma omp target device(ancestor : 1) map(always, tofrom : variable)
            variable[1] = variable[0] + 1;
        }
        EXPECT(omp_target_disassociate_ptr(variable, device), 0);
        EXPECT(omp_target_memcpy(back, there, sizeof back, 0, 0, host, device), 0);
        EXPECT(back[0], 123);
        EXPECT(back[1], 124);
    }
    omp_target_free(there, device);
    omp_target_free(other, device);
    return finish();
}
