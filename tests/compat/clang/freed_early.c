/* Host memory that is freed while it is mapped. Its mapping is deleted, and new memory at the
   same address is mapped.
   report: copies */
#include "check.h"
#include <sys/mman.h>

int main(void)
{
    int device = omp_get_default_device();
    for (int round = 0; round < 5; round++) {
        int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        p[0] = round;
#pragma omp target enter data map(to : p[0 : 1024])
        int *gone = p, got = -1;
        munmap(p, 4096);
        EXPECT(omp_target_is_present(gone, device), 1);
#pragma omp target map(from : got) map(alloc : p[0 : 1024])
        got = p[0];
        EXPECT(got, round);
#pragma omp target exit data map(delete : p[0 : 1024])
        EXPECT(omp_target_is_present(gone, device), 0);
    }
    return finish();
}
