/* The data that LLVM's device runtime reads, and the host functions that device code may call
   through pointers. They are written if an image has the variable, which this program defines
   instead of the runtime.
   only: emu
   env: LIBOMPTARGET_SHARED_MEMORY_SIZE=256 */
#include "check.h"
#include <stdint.h>

struct environment {
    uint32_t debug, devices, device, shared_bytes;
    uint64_t clock, calls, call_count, parallelism;
};

#pragma omp begin declare target
struct environment __omp_rtl_device_environment;
#pragma omp end declare target

#pragma omp begin declare target indirect
int twice(int x);
int twice(int x)
{
    return 2 * x;
}
#pragma omp end declare target

int main(void)
{
    struct environment got = {0};
    uint64_t host = 0, device = 0;
    int devices = omp_get_num_devices();
#pragma omp target teams ompx_bare num_teams(1) thread_limit(1) map(from : got, host, device)
    {
        got = __omp_rtl_device_environment;
        if (got.call_count == 1) {
            const uint64_t *call = (const uint64_t *)got.calls;
            host = call[0];
            device = call[1];
        }
    }
    if (devices > 0) {
        EXPECT(got.devices, devices);
        EXPECT(got.device, 0);
        EXPECT(got.shared_bytes, 256);
        EXPECT(got.parallelism > 0, 1);
        EXPECT(got.call_count, 1);
        EXPECT(host, (uintptr_t)twice);
        EXPECT(device != 0, 1);
    }
    return finish();
}
