// Features that need an `sm_90`: clusters of one block, bulk copies, counted transactions.

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

extern "C" __global__ void __cluster_dims__(1, 1, 1) cluster(const int *in, int *out, int chunks) {
    __shared__ int words[128];
    auto cluster = cg::this_cluster();
    words[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    int *other = cluster.map_shared_rank(words, 0);
    int *to = out + (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    to[0] = other[127 - threadIdx.x];
    to[1] = cluster.block_rank() * 100 + cluster.num_blocks() * 10 + cluster.query_shared_rank(words);
    to[2] = cluster.thread_rank();
    cluster.barrier_arrive();
    to[3] = cluster.dim_threads().x;
    cluster.barrier_wait();
}

// A thread has bulk copies fill two buffers in turn; all threads double them, and another bulk copy
// takes the result away.
extern "C" __global__ void bulk(const int *in, int *out, int chunks) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(128) int buffer[2][128];
    __shared__ alignas(128) int result[128];
    __shared__ barrier ready[2];
    int me = threadIdx.x;
    if (me == 0) {
        init(&ready[0], blockDim.x);
        init(&ready[1], blockDim.x);
        ptx::fence_proxy_async();
    }
    __syncthreads();
    auto fetch = [&](int chunk) -> barrier::arrival_token {
        barrier &it = ready[chunk % 2];
        if (me == 0) {
            cuda::memcpy_async(buffer[chunk % 2], in + chunk * 128,
                               cuda::aligned_size_t<16>(sizeof(buffer[0])), it);
        }
        return it.arrive();
    };
    int sum = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        auto token = fetch(chunk);
        ready[chunk % 2].wait(std::move(token));
        sum += buffer[chunk % 2][me];
        __syncthreads();
    }
    result[me] = sum;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (me == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 128, result,
                           sizeof(result));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// Waits for bytes that nobody copies.
extern "C" __global__ void stuck(const int *in, int *out, int chunks) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier ready;
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    auto token = threadIdx.x == 0 ? cuda::device::barrier_arrive_tx(ready, 1, 16) : ready.arrive();
    ready.wait(std::move(token));
}

// One warp waits for a phase by its parity; the others are counted by their transactions.
extern "C" __global__ void transactions(const int *in, int *out, int chunks) {
    __shared__ int words[128];
    __shared__ unsigned long long barrier;
    int me = threadIdx.x;
    if (me == 0) ptx::mbarrier_init(&barrier, 1);
    __syncthreads();
    int sum = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        if (me == 0)
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                           sizeof(words));
        unsigned to = (unsigned)__cvta_generic_to_shared(&words[me]);
        unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                     :: "r"(to), "r"(in[chunk * 128 + me]), "r"(at) : "memory");
        while (!ptx::mbarrier_try_wait_parity(&barrier, chunk % 2)) {
        }
        sum += words[127 - me];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + me] = sum;
}
