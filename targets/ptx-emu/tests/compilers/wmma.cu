// Products of matrices by `nvcuda::wmma`, a tile of the result per block of one warp.

#include <mma.h>

using namespace nvcuda;

template <typename Layout> constexpr bool is_row = false;
template <> constexpr bool is_row<wmma::row_major> = true;

// d = a b + c. `a` is stored in rows of `k` elements or, with `Col`, in columns of `m`; `b` the same
// way with `n` and `k`.
template <int M, int N, int K, typename Stored, typename T, typename Sum, typename A, typename B>
__device__ void product(const Stored *a, const Stored *b, const Sum *c, Sum *d, int n, int k,
                        int lead_a, int lead_b) {
    int row = blockIdx.y * M, column = blockIdx.x * N;
    wmma::fragment<wmma::matrix_a, M, N, K, T, A> left;
    wmma::fragment<wmma::matrix_b, M, N, K, T, B> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::load_matrix_sync(sum, c + row * n + column, n, wmma::mem_row_major);
#pragma unroll 1
    for (int at = 0; at < k; at += K) {
        wmma::load_matrix_sync(left, is_row<A> ? a + row * lead_a + at : a + at * lead_a + row, lead_a);
        wmma::load_matrix_sync(right, is_row<B> ? b + at * lead_b + column : b + column * lead_b + at, lead_b);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

#define KERNEL(NAME, M, N, K, STORED, T, SUM, A, B)                                                \
    extern "C" __global__ void NAME(const STORED *a, const STORED *b, const SUM *c, SUM *d, int n, \
                                    int k, int lead_a, int lead_b) {                               \
        product<M, N, K, STORED, T, SUM, wmma::A, wmma::B>(a, b, c, d, n, k, lead_a, lead_b);      \
    }

KERNEL(half_float, 16, 16, 16, half, half, float, row_major, row_major)
KERNEL(half_float_cols, 16, 16, 16, half, half, float, col_major, col_major)
KERNEL(half_half, 16, 16, 16, half, half, half, row_major, col_major)
KERNEL(half_float_wide, 8, 32, 16, half, half, float, row_major, row_major)
KERNEL(half_float_tall, 32, 8, 16, half, half, float, col_major, row_major)
KERNEL(brain_float, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, col_major)
KERNEL(brain_float_wide, 8, 32, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, row_major)
KERNEL(brain_float_tall, 32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, row_major)
KERNEL(tf32_float, 16, 16, 8, float, wmma::precision::tf32, float, row_major, col_major)
KERNEL(signed_int, 16, 16, 16, signed char, signed char, int, row_major, col_major)
KERNEL(unsigned_int, 16, 16, 16, unsigned char, unsigned char, int, row_major, row_major)
KERNEL(signed_int_wide, 8, 32, 16, signed char, signed char, int, row_major, row_major)
KERNEL(unsigned_int_tall, 32, 8, 16, unsigned char, unsigned char, int, col_major, col_major)
KERNEL(double_double, 8, 8, 4, double, double, double, row_major, col_major)

// Elements of 4 bits and of one bit, of which bytes hold several.
extern "C" __global__ void nibbles(const void *a, const void *b, const int *c, int *d) {
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
    wmma::load_matrix_sync(left, a, 32);
    wmma::load_matrix_sync(right, b, 32);
    wmma::load_matrix_sync(sum, c, 8, wmma::mem_row_major);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void single_bits(const void *a, const void *b, const int *c, int *d) {
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
    wmma::load_matrix_sync(left, a, 128);
    wmma::load_matrix_sync(right, b, 128);
    wmma::load_matrix_sync(sum, c, 8, wmma::mem_row_major);
    wmma::bmma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}
