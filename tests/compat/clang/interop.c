/* Interop objects: none of these devices provides one, for any request. */
#include "check.h"

int main(void)
{
    omp_interop_t object, sync;
    int first = 0, second = 0;
#pragma omp interop init(target : object)
    EXPECT(object == omp_interop_none, 1);
#pragma omp interop init(target, targetsync : object) device(1)
    EXPECT(object == omp_interop_none, 1);
#pragma omp interop use(object)
#pragma omp interop destroy(object)
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : first)
        first = 1;
#pragma omp interop init(targetsync : sync) device(0) depend(inout : first)
        EXPECT(first, 1);
        EXPECT(sync == omp_interop_none, 1);
#pragma omp task depend(out : second)
        second = 1;
#pragma omp interop use(sync) depend(in : second) nowait
#pragma omp target map(tofrom : second) depend(inout : second)
        second++;
#pragma omp interop destroy(sync) depend(in : first, second) nowait
        EXPECT(sync == omp_interop_none, 1);
#pragma omp taskwait
        EXPECT(second, 2);
    }
    EXPECT(omp_get_num_interop_properties(object), 0);
    return finish();
}
