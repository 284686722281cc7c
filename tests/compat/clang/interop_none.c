/* Properties of the null interop object. LLVM's library follows a null pointer.
   stock: signal 11 */
#include "check.h"

int main(void)
{
    int why = 0;
    EXPECT(omp_get_interop_int(omp_interop_none, omp_ipr_device_num, &why), 0);
    EXPECT(why, omp_irc_empty);
    EXPECT(omp_get_interop_ptr(omp_interop_none, omp_ipr_targetsync, &why) == NULL, 1);
    EXPECT(why, omp_irc_empty);
    EXPECT(omp_get_interop_str(omp_interop_none, omp_ipr_vendor_name, &why) == NULL, 1);
    EXPECT(why, omp_irc_empty);
    EXPECT(omp_get_interop_name(omp_interop_none, omp_ipr_vendor) == NULL, 1);
    EXPECT(omp_get_interop_type_desc(omp_interop_none, omp_ipr_vendor) == NULL, 1);
    return finish();
}
