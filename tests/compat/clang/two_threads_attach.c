/* Several threads map the same structure and the target of its pointer concurrently: in each
   region the pointer is the device's. With LLVM's library it is sometimes the host's, in the
   region of a thread that finds the data already mapped by another thread, which has not
   attached the pointer yet.
   env: OMP_WAIT_POLICY=passive
   report: free
   stock: any */
#include "check.h"
#include <stdint.h>

enum { THREADS = 4, ROUNDS = 2000, N = 16 };

struct vector {
    int n;
    int *p;
};

int main(void)
{
    int values[N], hosts = 0, wrong = 0;
    struct vector s = {N, values};
    uintptr_t host = (uintptr_t)values;
    for (int i = 0; i < N; i++)
        values[i] = 100 + i;
#pragma omp parallel num_threads(THREADS) reduction(+ : hosts, wrong)
    for (int round = 0; round < ROUNDS; round++) {
        int is_host = -1, differ = 0;
#pragma omp barrier
#pragma omp target map(to : s) map(to : s.p[0 : N]) map(from : is_host) map(tofrom : differ)
        {
            is_host = (uintptr_t)s.p == host;
            for (int i = 0; i < s.n; i++)
                differ += s.p[i] != 100 + i;
        }
        hosts += is_host != 0;
        wrong += differ;
    }
    EXPECT(hosts, 0);
    EXPECT(wrong, 0);
    EXPECT(s.p == values, 1);
    return finish();
}
