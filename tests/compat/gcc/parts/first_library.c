/* A shared library with a target region of its own, and a variable of its own there. */
#include <omp.h>
#pragma omp requires reverse_offload

#pragma omp declare target
static int base = 100;
#pragma omp end declare target

static int thousand = 1000;

static void host_function(int *value)
{
    *value += thousand;
}

int first_library(int what, int *initial);

int first_library(int what, int *initial)
{
    int on = -1, result = 0, number = -1;
#pragma omp target map(from : on, result, number) firstprivate(what)
    {
        on = omp_is_initial_device();
        number = omp_get_device_num();
        int value = base + what;
#pragma omp target device(ancestor : 1) map(tofrom : value)
        host_function(&value);
        result = value;
    }
    *initial = on;
    /* Every image gets the variables that describe the device. */
    return on == 0 && number != omp_get_default_device() ? -1 : result;
}
