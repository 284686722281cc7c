/* More memory than the device has; our message gives the limit and the variable that sets it.
   stock: ok
   output: REVOFF_HOST_MEMORY */
#include "check.h"

int main(void)
{
    EXPECT(omp_target_alloc((size_t)1 << 60, omp_get_default_device()) == NULL, 1);
    return finish();
}
