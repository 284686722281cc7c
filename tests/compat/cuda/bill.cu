/* The program of docs/coming-from/cuda.md, as it stands there.
   ends: exit 0
   output: order 4: no price for item 8
   output: total: 1220 */
#include "parts/nvcc.h"

#include <cstdio>

const int ORDERS = 8;

__device__ int item_of(int order) { return order * 7 % 10; }

__global__ void find_items(int *items) { items[threadIdx.x] = item_of(threadIdx.x); }

__global__ void bill(const int *prices, int *costs) {
    int order = threadIdx.x;
    if (prices[order] == 0)
        printf("order %d: no price for item %d\n", order, item_of(order));
    costs[order] = (order + 1) * prices[order];
}

int main() {
    const int list[10] = {50, 20, 35, 0, 15, 80, 0, 60, 0, 25};
    int items[ORDERS], prices[ORDERS], costs[ORDERS], total = 0;
    int *on_device, *costs_on_device;
    cudaMalloc(&on_device, sizeof items);
    cudaMalloc(&costs_on_device, sizeof costs);

    find_items<<<1, ORDERS>>>(on_device);
    cudaMemcpy(items, on_device, sizeof items, cudaMemcpyDeviceToHost);
    for (int order = 0; order < ORDERS; order++)
        prices[order] = list[items[order]];
    cudaMemcpy(on_device, prices, sizeof prices, cudaMemcpyHostToDevice);
    bill<<<1, ORDERS>>>(on_device, costs_on_device);
    cudaMemcpy(costs, costs_on_device, sizeof costs, cudaMemcpyDeviceToHost);

    for (int cost : costs)
        total += cost;
    printf("total: %d\n", total);
}
