/* Implicitly mapped data may be larger than the data that is already mapped. Exits and updates
   of more than that do nothing. */
#include "check.h"

int main(void)
{
    int a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#pragma omp target enter data map(to : a[0 : 4])
#pragma omp target
    a[2] = 50;
#pragma omp target update from(a[0 : 4])
    EXPECT(a[2], 50);
#pragma omp target exit data map(release : a[0 : 4])
    EXPECT(omp_target_is_present(a, omp_get_default_device()), 0);
    return finish();
}
