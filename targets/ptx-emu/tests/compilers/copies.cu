// Copies that run while a block computes: `cp.async` directly, `cuda::pipeline`, `cuda::barrier`.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

constexpr int STAGES = 3;

// Sums of elements that are 128 apart, by a ring of buffers that `__pipeline_*` fills.
extern "C" __global__ void ring(const int *in, int *out, int chunks) {
    __shared__ alignas(16) int buffer[STAGES][128];
    int me = threadIdx.x;
    auto fetch = [&](int chunk) {
        if (chunk < chunks && me < 32)
            __pipeline_memcpy_async(&buffer[chunk % STAGES][me * 4], in + chunk * 128 + me * 4, 16);
        __pipeline_commit();
    };
#pragma unroll 1
    for (int chunk = 0; chunk < STAGES - 1; chunk++) fetch(chunk);
    int sum = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        sum += buffer[chunk % STAGES][me];
        fetch(chunk + STAGES - 1);
    }
    out[blockIdx.x * blockDim.x + me] = sum;
}

// The same by `cuda::pipeline`, whose stages all threads of the block share.
extern "C" __global__ void shared_pipeline(const int *in, int *out, int chunks) {
    __shared__ alignas(16) int buffer[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    auto fetch = [&](int chunk) {
        pipeline.producer_acquire();
        if (chunk < chunks)
            cuda::memcpy_async(block, buffer[chunk % 2], in + chunk * 128,
                               cuda::aligned_size_t<16>(sizeof(buffer[0])), pipeline);
        pipeline.producer_commit();
    };
    fetch(0);
    int sum = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        fetch(chunk + 1);
        pipeline.consumer_wait();
        sum += buffer[chunk % 2][threadIdx.x];
        pipeline.consumer_release();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A thread's own pipeline, with copies of 4 bytes.
extern "C" __global__ void thread_pipeline(const int *in, int *out, int chunks) {
    __shared__ int buffer[2][128];
    auto pipeline = cuda::make_pipeline();
    int me = threadIdx.x, sum = 0;
    auto fetch = [&](int chunk) {
        pipeline.producer_acquire();
        if (chunk < chunks)
            cuda::memcpy_async(&buffer[chunk % 2][me], in + chunk * 128 + me, sizeof(int), pipeline);
        pipeline.producer_commit();
    };
    fetch(0);
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        fetch(chunk + 1);
        cuda::pipeline_consumer_wait_prior<1>(pipeline);
        sum += buffer[chunk % 2][me];
        pipeline.consumer_release();
    }
    out[blockIdx.x * blockDim.x + me] = sum;
}

// One warp produces what the others consume, by a pair of barriers for each buffer.
extern "C" __global__ void producer_consumer(const int *in, int *out, int chunks) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ int buffer[2][96];
    __shared__ barrier full[2], empty[2];
    if (threadIdx.x == 0)
        for (int at = 0; at < 2; at++) {
            init(&full[at], 128);
            init(&empty[at], 128);
        }
    __syncthreads();
    int me = threadIdx.x;
    if (me < 32) {
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; chunk++) {
            empty[chunk % 2].arrive_and_wait();
            for (int at = me; at < 96; at += 32) buffer[chunk % 2][at] = in[chunk * 96 + at];
            (void)full[chunk % 2].arrive();
        }
    } else {
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        int sum = 0;
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; chunk++) {
            full[chunk % 2].arrive_and_wait();
            sum += buffer[chunk % 2][me - 32];
            (void)empty[chunk % 2].arrive();
        }
        out[blockIdx.x * 96 + me - 32] = sum;
    }
}

// Copies that arrive at a barrier by themselves.
extern "C" __global__ void copies_arrive(const int *in, int *out, int chunks) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(16) int buffer[128];
    __shared__ barrier ready;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    block.sync();
    int sum = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        cuda::memcpy_async(block, buffer, in + chunk * 128, cuda::aligned_size_t<16>(sizeof(buffer)), ready);
        ready.arrive_and_wait();
        sum += buffer[threadIdx.x];
        block.sync();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// All blocks of the grid wait for each other.
extern "C" __global__ void whole_grid(const int *in, int *out, int chunks) {
    auto grid = cg::this_grid();
    int me = grid.thread_rank();
    for (int chunk = 0; chunk < chunks; chunk++) {
        out[me] = in[chunk * 128 + me % 128];
        grid.sync();
        int other = out[(me + 128) % grid.size()];
        grid.sync();
        out[me] = other + me / 128;
        grid.sync();
    }
}

// Groups of threads: tiles, reductions, and the copies and barriers of a block.
extern "C" __global__ void groups(const int *in, int *out, int chunks) {
    __shared__ alignas(16) int buffer[128];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto quarter = cg::tiled_partition<8>(warp);
    int sum = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        cg::memcpy_async(block, buffer, in + chunk * 128, sizeof(buffer));
        cg::wait(block);
        sum += buffer[block.thread_rank()];
        block.sync();
    }
    int eighth = cg::reduce(quarter, sum, cg::plus<int>());
    int most = cg::reduce(warp, sum, cg::greater<int>());
    auto odd = cg::binary_partition(warp, warp.thread_rank() % 2 == 1);
    int odds = cg::reduce(odd, sum, cg::plus<int>());
    int *to = out + (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    to[0] = sum;
    to[1] = eighth;
    to[2] = most;
    to[3] = odds;
}
