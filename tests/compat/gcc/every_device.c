/* A kernel on each device, whose host region runs a kernel on the next device (the same one if
   there is only one). */
#include "check.h"
#pragma omp requires reverse_offload

enum { MOST = 4 };

static int devices, seen[MOST];

static int on_the_next(int device)
{
    int y = 5;
#pragma omp target device((device + 1) % devices) map(tofrom : y)
    y += 1;
    return y;
}

static void note(int device, int *x)
{
    seen[device]++;
    x[device] += 100 * on_the_next(device);
}

int main(void)
{
    int x[MOST] = {1, 2, 3, 4};
    devices = omp_get_num_devices();
    if (devices > MOST || !on_device())
        devices = 1;
    for (int d = 0; d < devices; d++) {
        int number = -1, initial = -1;
#pragma omp target device(d) map(from : number, initial) map(tofrom : x)
        {
            number = omp_get_device_num();
            initial = omp_is_initial_device();
            x[d] += 10;
            /* The host has mapped it; the other devices' copies must not change. */
#pragma omp target device(ancestor : 1) map(always, tofrom : x) firstprivate(d)
            note(d, x);
        }
        EXPECT_ON_DEVICE(initial);
        if (on_device())
            EXPECT(number, d);
        EXPECT(seen[d], 1);
        EXPECT(x[d], d + 1 + 10 + 600);
    }
    return finish();
}
