/* An update by hand, with the call that clang 22 makes with -g for b[1:2:2][2:3]: it does not
   pass the start of the section, which only the name contains.
   stock: exit 1
   ends: signal 6
   output: section b[1:2:2][2:3] cannot be updated
   report: free */
#include "check.h"
#include <stdint.h>

void __tgt_target_data_update_mapper(void *at, int64_t device, int32_t count, void **bases, void **begins,
                                     int64_t *sizes, int64_t *types, void **names, void **mappers);

struct dimension {
    uint64_t offset, count, stride;
};

int main(void)
{
    static int b[6][8];
    struct dimension section[] = {{1, 2, 64}, {2, 3, 4}, {0, 1, 4}};
    void *base[] = {b}, *begin[] = {section}, *name[] = {";b[1:2:2][2:3];update_unclear.c;1;1;;"};
    int64_t size[] = {3}, type[] = {0x100000000001};
#pragma omp target enter data map(to : b)
    for (int i = 0; i < 48; i++)
        b[i / 8][i % 8] = 1;
    __tgt_target_data_update_mapper(NULL, -1, 1, base, begin, size, type, name, NULL);
#pragma omp target exit data map(from : b)
    EXPECT(b[1][2], 1);
    EXPECT(b[2][2], 0);
    return finish();
}
