/* More memory than there is. */
#include "check.h"

int main(void)
{
    EXPECT(omp_target_alloc((size_t)1 << 60, omp_get_default_device()) == NULL, 1);
    return finish();
}
