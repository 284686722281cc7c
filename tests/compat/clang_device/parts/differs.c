// The test must detect this program: it prints whether it runs on the device.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int is_host = -1;
    #pragma omp target map(from : is_host)
    is_host = omp_is_initial_device();
    printf("%d\n", is_host);
    return 0;
}
