/* Regions on each device, which call the host: each image gets the number of its device.
   only: emu */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { MOST = 8 };

struct data {
    int initial;
    int device;
};

static int served[MOST];

static void serve(int device)
{
    if (device >= 0 && device < MOST)
        served[device]++;
}

int main(void)
{
    int devices = omp_get_num_devices();
    if (on_device())
        EXPECT(devices, 2);
    for (int device = 0; device < devices; device++) {
        struct data data = {-1, -1};
#pragma omp target device(device) map(tofrom : data)
        {
            int own = omp_get_device_num();
            data.initial = omp_is_initial_device();
            data.device = own;
#pragma omp target device(ancestor : 1) firstprivate(own)
            serve(own);
        }
        EXPECT_ON_DEVICE(data.initial);
        EXPECT(data.device, device);
        EXPECT(served[device], 1);
    }
    return finish();
}
