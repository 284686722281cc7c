/* The program of docs/coming-from/gcc.md, as it stands there.
   ends: exit 0
   output: order 4: no price for item 8
   output: total: 1220 */

#include <stdio.h>
#pragma omp requires reverse_offload

enum { ORDERS = 8 };

static unsigned look_up(int item) {
    static const unsigned list[10] = {50, 20, 35, 0, 15, 80, 0, 60, 0, 25};
    return list[item];
}

int main(void) {
    unsigned costs[ORDERS], total = 0;
    #pragma omp target teams distribute parallel for map(from: costs)
    for (int order = 0; order < ORDERS; order++) {
        int item = order * 7 % 10;
        unsigned price = 0;
        #pragma omp target device(ancestor: 1) firstprivate(item) map(from: price)
        price = look_up(item);
        if (price == 0) {
            #pragma omp target device(ancestor: 1) firstprivate(order, item)
            printf("order %d: no price for item %d\n", order, item);
        }
        costs[order] = (order + 1) * price;
    }
    for (int order = 0; order < ORDERS; order++)
        total += costs[order];
    printf("total: %u\n", total);
}
