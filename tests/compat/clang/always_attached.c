/* A structure with an attached pointer is copied once more: its numbers become the host's, its
   pointer stays the device's. LLVM's library copies nothing.
   stock: exit 1 */
#include "check.h"
#include <stdint.h>

enum { N = 16 };

struct vector {
    int n;
    int *p;
};

int main(void)
{
    int values[N], n = 0, is_host = -1, first = 0;
    struct vector s = {N, values};
    uintptr_t host = (uintptr_t)values;
    for (int i = 0; i < N; i++)
        values[i] = 100 + i;
#pragma omp target enter data map(to : s) map(to : s.p[0 : N])
    s.n = 3;
#pragma omp target map(always, to : s) map(from : n, is_host, first)
    {
        n = s.n;
        is_host = (uintptr_t)s.p == host;
        first = is_host ? -1 : s.p[0];
    }
    EXPECT(n, 3);
    EXPECT(is_host, 0);
    EXPECT(first, 100);
#pragma omp target exit data map(release : s.p[0 : N]) map(from : s)
    EXPECT(s.p == values, 1);
    return finish();
}
