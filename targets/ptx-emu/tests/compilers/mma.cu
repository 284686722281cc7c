// `mma.sync` as programs use it: fragments by `ldmatrix` from shared memory, a result per block.

typedef unsigned u32;

__device__ u32 shared(const void *at) { return (u32)__cvta_generic_to_shared(at); }

// c (16x8) = a (16x`k`, rows) b (8x`k`, so that columns are contiguous), f16 with sums in f32.
extern "C" __global__ void half_gemm(const unsigned short *a, const unsigned short *b, float *c, int k) {
    __shared__ alignas(16) unsigned short left[16][24], right[8][24];
    int lane = threadIdx.x;
    float sum[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int at = 0; at < k; at += 16) {
        for (int i = lane; i < 256; i += 32) left[i / 16][i % 16] = a[i / 16 * k + at + i % 16];
        for (int i = lane; i < 128; i += 32) right[i / 16][i % 16] = b[i / 16 * k + at + i % 16];
        __syncwarp();
        u32 x[4], y[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(shared(&left[lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1])
                     : "r"(shared(&right[lane % 8][lane / 8 % 2 * 8])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncwarp();
    }
    for (int i = 0; i < 4; i++) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

// The same with `b` in rows of 8, which `ldmatrix` transposes, and a result that `stmatrix` stores.
extern "C" __global__ void half_gemm_transposed(const unsigned short *a, const unsigned short *b,
                                                unsigned short *c, int k) {
    __shared__ alignas(16) unsigned short left[16][16], right[16][8], result[16][8];
    int lane = threadIdx.x;
    u32 sum[2] = {0, 0};
#pragma unroll 1
    for (int at = 0; at < k; at += 16) {
        for (int i = lane; i < 256; i += 32) left[i / 16][i % 16] = a[i / 16 * k + at + i % 16];
        for (int i = lane; i < 128; i += 32) right[i / 8][i % 8] = b[at * 8 + i];
        __syncwarp();
        u32 x[4], y[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(shared(&left[lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1])
                     : "r"(shared(&right[lane % 16][0])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                     "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                     : "+r"(sum[0]), "+r"(sum[1])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncwarp();
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                 :: "r"(shared(&result[lane % 16][0])), "r"(sum[0]), "r"(sum[1]) : "memory");
    __syncwarp();
    for (int i = lane; i < 128; i += 32) c[i] = result[i / 8][i % 8];
}
