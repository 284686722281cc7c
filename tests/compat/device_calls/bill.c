/* The program of docs/coming-from/llvm.md, as it stands there.
   ends: exit 0
   output: order 4: no price for item 8
   output: total: 1220
   only: host */

#include <stdio.h>

#include "revoff_rpc.h"

enum { ORDERS = 8 };

// Runs on the host, with a copy of the data.
unsigned long long look_up(void *item) {
    static const unsigned list[10] = {50, 20, 35, 0, 15, 80, 0, 60, 0, 25};
    return list[*(int *)item];
}

int main(void) {
    unsigned costs[ORDERS], total = 0;
    void *function = (void *)look_up;
    #pragma omp target teams distribute parallel for map(from: costs) firstprivate(function)
    for (int order = 0; order < ORDERS; order++) {
        int item = order * 7 % 10;
        unsigned price = rpc_host_call(function, &item, sizeof item);
        if (price == 0)
            printf("order %d: no price for item %d\n", order, item);
        costs[order] = (order + 1) * price;
    }
    for (int order = 0; order < ORDERS; order++)
        total += costs[order];
    printf("total: %u\n", total);
}
