// Locks of a team: one thread of each warp takes them.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int count = 0, tested = 0;
    #pragma omp target map(tofrom : count, tested)
    {
        omp_lock_t lock;
        omp_init_lock(&lock);
        #pragma omp parallel num_threads(96)
        if (omp_get_thread_num() % 32 == 0 || omp_get_num_threads() < 32) {
            for (int i = 0; i < 10; i++) {
                omp_set_lock(&lock);
                count += 2;
                omp_unset_lock(&lock);
            }
        }
        if (omp_test_lock(&lock)) {
            tested = 1 + omp_test_lock(&lock) * 10;
            omp_unset_lock(&lock);
        }
        omp_destroy_lock(&lock);
    }
    printf("%d %d\n", count > 0 && count % 20 == 0, tested);
    return 0;
}
