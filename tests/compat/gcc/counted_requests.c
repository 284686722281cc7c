/* Calls to the host whose number the environment gives, without data and with data in device memory: a test counts
   what each costs. */
#include "check.h"

#pragma omp requires reverse_offload

static int value(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int calls;

static void count_call(void) { calls++; }

int main(void) {
    int empty = value("COUNTED_EMPTY", 3), with_data = value("COUNTED_DATA", 2), sum = 0;
    int device = omp_get_default_device();
    int *data = omp_target_alloc(64 * sizeof *data, device);

#pragma omp target is_device_ptr(data) map(tofrom : sum)
    {
        for (int i = 0; i < empty; i++) {
#pragma omp target device(ancestor : 1)
            count_call();
        }
        for (int i = 0; i < with_data; i++) {
            for (int k = 0; k < 64; k++)
                data[k] = i + k;
#pragma omp target device(ancestor : 1) map(tofrom : data[0 : 64])
            for (int k = 0; k < 64; k++)
                data[k]++;
            sum += data[63];
        }
    }
    EXPECT(calls, empty);
    EXPECT(sum, 64 * with_data + with_data * (with_data - 1) / 2);
    omp_target_free(data, device);
    return finish();
}
