"""Kernels by numba, run on a GPU; each test compares its results with numpy's.

    ci/numba                          # on the emulated driver
    python3 kernels.py [NAME..]       # on the machine's own
"""

import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from numba import cuda, float32, float64, int32, int64, void
from numba.cuda.cudadrv.driver import CudaAPIError

N = 1000
BLOCK = 128
GRID = (N + BLOCK - 1) // BLOCK
TESTS = []
# The argument for a process that has a fault.
FAULT = "--fault"
random = np.random.default_rng(7)


def test(function):
    TESTS.append(function)
    return function


def same(got, expected, tolerance=0):
    """Results of whole numbers are equal; those of hardware's functions nearly."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    if tolerance:
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, expected)


def floats(kind=np.float32, low=-10, high=10):
    return random.uniform(low, high, N).astype(kind)


def integers(kind=np.int32, low=-1000, high=1000):
    return random.integers(low, high, N).astype(kind)


def each(function, expected, *arrays, kind=None, tolerance=0):
    """Applies a function to each element on the GPU and compares the results."""
    device = cuda.jit(device=True)(function)
    out = np.zeros(N, kind or arrays[0].dtype)
    if len(arrays) == 1:

        @cuda.jit
        def kernel(a, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = device(a[i])

    else:

        @cuda.jit
        def kernel(a, b, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = device(a[i], b[i])

    kernel[GRID, BLOCK](*arrays, out)
    same(out, expected, tolerance)


# Arithmetic.


@test
def add():
    a, b = floats(), floats()
    each(lambda x, y: x + y, a + b, a, b)


@test
def subtract_doubles():
    a, b = floats(np.float64), floats(np.float64)
    each(lambda x, y: x - y, a - b, a, b)


@test
def multiply():
    a, b = floats(), floats()
    each(lambda x, y: x * y, a * b, a, b)


@test
def divide():
    a, b = floats(), floats(low=1)
    each(lambda x, y: x / y, a / b, a, b, tolerance=1e-6)


@test
def divide_doubles():
    a, b = floats(np.float64), floats(np.float64, low=1)
    each(lambda x, y: x / y, a / b, a, b)


@test
def floor_division():
    a, b = integers(), integers(low=1)
    each(lambda x, y: x // y, a // b, a, b)


@test
def remainder():
    a, b = integers(), integers(low=1)
    each(lambda x, y: x % y, a % b, a, b)


@test
def remainder_of_floats():
    a, b = floats(np.float64), floats(np.float64, low=1)
    each(lambda x, y: x % y, a % b, a, b, tolerance=1e-12)


@test
def powers():
    a, b = floats(np.float64, low=0.1), floats(np.float64, low=-3, high=3)
    each(lambda x, y: x**y, a**b, a, b, tolerance=1e-10)


@test
def whole_powers():
    a = integers(np.int64, -20, 20)
    each(lambda x: x**5, a**5, a)


@test
def bits():
    a, b = integers(np.uint32, 0, 1 << 31), integers(np.uint32, 0, 1 << 31)
    each(lambda x, y: (x & y) | (x ^ ~y), (a & b) | (a ^ ~b), a, b)


@test
def shifts():
    a, b = integers(np.int64, 0, 1 << 40), integers(np.int64, 0, 20)
    each(lambda x, y: (x << y) ^ (x >> y), (a << b) ^ (a >> b), a, b)


@test
def small_integers_wrap():
    a, b = integers(np.int8, -128, 128), integers(np.int8, -128, 128)
    each(lambda x, y: x * y + x, a * b + a, a, b)


@test
def wide_integers():
    a, b = integers(np.int64, -(1 << 40), 1 << 40), integers(np.int64, -(1 << 20), 1 << 20)
    each(lambda x, y: x * y - y, a * b - b, a, b)


@test
def comparisons():
    a, b = integers(low=-3, high=3), integers(low=-3, high=3)
    each(lambda x, y: (x < y) + 2 * (x == y) + 4 * (x >= y), (a < b) + 2 * (a == b) + 4 * (a >= b), a, b)


@test
def minimum_and_maximum():
    a, b = floats(), floats()
    each(lambda x, y: max(x, y) - min(x, y), np.maximum(a, b) - np.minimum(a, b), a, b)


@test
def conversions():
    a = floats(np.float64, -1e6, 1e6)
    each(lambda x: int32(x), a.astype(np.int32), a, kind=np.int32)


@test
def doubles_to_floats():
    a = floats(np.float64)
    each(lambda x: float32(x), a.astype(np.float32), a, kind=np.float32)


@test
def rounding():
    a = floats(np.float64)
    each(lambda x: math.floor(x) + 2 * math.ceil(x) + math.trunc(x), np.floor(a) + 2 * np.ceil(a) + np.trunc(a), a)


@test
def absolute_values():
    a = floats()
    each(lambda x: abs(x) + math.fabs(x), 2 * np.abs(a), a)


@test
def fused_multiply_add():
    a, b = floats(np.float64), floats(np.float64)
    each(lambda x, y: cuda.fma(x, y, 1.0), a * b + 1, a, b, tolerance=1e-14)


# Functions.


@test
def square_roots():
    a = floats(np.float64, 0)
    each(lambda x: math.sqrt(x), np.sqrt(a), a)


@test
def sines():
    a = floats()
    each(lambda x: math.sin(x) + math.cos(x), np.sin(a) + np.cos(a), a, tolerance=1e-5)


@test
def tangents_of_doubles():
    a = floats(np.float64, -1, 1)
    each(lambda x: math.tan(x) + math.atan(x), np.tan(a) + np.arctan(a), a, tolerance=1e-12)


@test
def exponentials():
    a = floats(np.float64)
    each(lambda x: math.exp(x), np.exp(a), a, tolerance=1e-12)


@test
def logarithms():
    a = floats(np.float64, 0.1)
    each(lambda x: math.log(x) + math.log10(x), np.log(a) + np.log10(a), a, tolerance=1e-12)


@test
def hyperbolic_functions():
    a = floats(np.float64, -3, 3)
    each(lambda x: math.sinh(x) - math.tanh(x), np.sinh(a) - np.tanh(a), a, tolerance=1e-12)


@test
def arcs():
    a, b = floats(np.float64), floats(np.float64)
    each(lambda x, y: math.atan2(x, y), np.arctan2(a, b), a, b, tolerance=1e-12)


@test
def lengths():
    a, b = floats(np.float64), floats(np.float64)
    each(lambda x, y: math.hypot(x, y), np.hypot(a, b), a, b, tolerance=1e-14)


@test
def error_function():
    a = floats(np.float64, -3, 3)
    each(lambda x: math.erf(x), [math.erf(x) for x in a], a, tolerance=1e-12)


@test
def gamma_function():
    a = floats(np.float64, 0.5, 5)
    each(lambda x: math.gamma(x), [math.gamma(x) for x in a], a, tolerance=1e-12)


@test
def not_numbers():
    a = floats()
    a[::3], a[1::3] = np.nan, np.inf
    each(lambda x: math.isnan(x) + 2 * math.isinf(x), np.isnan(a) + 2 * np.isinf(a), a, kind=np.int32)


@test
def counts_of_bits():
    a = integers(np.uint32, 1, 1 << 31)
    counts = [int(x).bit_count() + 100 * (32 - int(x).bit_length()) for x in a]
    each(lambda x: cuda.popc(x) + 100 * cuda.clz(x), np.array(counts, np.uint32), a)


@test
def reversed_bits():
    a = integers(np.uint32, 0, 1 << 31)
    each(lambda x: cuda.brev(x), np.array([int(f"{x:032b}"[::-1], 2) for x in a], np.uint32), a)


@test
def selections():
    a, b = integers(), integers()
    each(lambda x, y: cuda.selp(x > y, x, y), np.maximum(a, b), a, b)


@test
def half_floats():
    a, b = floats(np.float16), floats(np.float16)
    each(lambda x, y: x * y + x, (a * b + a).astype(np.float16), a, b, tolerance=2e-3)


@test
def complex_numbers():
    a = (floats() + 1j * floats()).astype(np.complex64)
    b = (floats() + 1j * floats()).astype(np.complex64)
    each(lambda x, y: x * y - x.conjugate(), a * b - a.conj(), a, b, tolerance=1e-4)


# Control flow.


@test
def diverging_loops():
    a = integers(low=1, high=10_000)

    def steps(x):
        count = 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            count += 1
        return count

    each(steps, [steps(int(x)) for x in a], a)


@test
def recursion():
    @cuda.jit("int64(int64)", device=True)
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = fibonacci(i)

    out = np.zeros(15, np.int64)
    kernel[1, 32](out)
    same(out, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377])


@test
def grids_of_two_dimensions():
    @cuda.jit
    def kernel(out):
        x, y = cuda.grid(2)
        if x < out.shape[0] and y < out.shape[1]:
            out[x, y] = 100 * x + y

    out = np.zeros((30, 50), np.int32)
    kernel[(4, 7), (8, 8)](out)
    same(out, 100 * np.arange(30)[:, None] + np.arange(50))


@test
def grids_of_three_dimensions():
    @cuda.jit
    def kernel(out):
        x, y, z = cuda.grid(3)
        if x < out.shape[0] and y < out.shape[1] and z < out.shape[2]:
            out[x, y, z] = x + 10 * y + 100 * z + 1000 * cuda.gridDim.z + 10_000 * cuda.blockDim.y

    out = np.zeros((5, 6, 7), np.int32)
    kernel[(3, 2, 4), (2, 4, 2)](out)
    x, y, z = np.indices(out.shape)
    same(out, x + 10 * y + 100 * z + 4000 + 40_000)


@test
def strides_of_the_grid():
    @cuda.jit
    def kernel(out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] += i

    out = np.ones(N, np.int64)
    kernel[2, 64](out)
    same(out, np.arange(N) + 1)


@test
def strided_arrays():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i, -1]

    a = np.asfortranarray(random.integers(0, 9, (N, 5)))
    out = np.zeros(N, a.dtype)
    kernel[GRID, BLOCK](a, out)
    same(out, a[:, -1])


@test
def records():
    kind = np.dtype([("a", np.int32), ("b", np.float64)], align=True)

    @cuda.jit
    def kernel(records):
        i = cuda.grid(1)
        if i < records.size:
            records[i].b += records[i].a

    records = np.zeros(N, kind)
    records["a"] = np.arange(N)
    records["b"] = 0.5
    kernel[GRID, BLOCK](records)
    same(records["b"], np.arange(N) + 0.5)


# Memory.


@test
def shared_memory_reverses():
    @cuda.jit
    def kernel(a):
        part = cuda.shared.array(BLOCK, int32)
        i, base = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
        part[i] = a[base + i]
        cuda.syncthreads()
        a[base + i] = part[BLOCK - 1 - i]

    a = np.arange(4 * BLOCK, dtype=np.int32)
    expected = a.reshape(4, BLOCK)[:, ::-1].ravel()
    kernel[4, BLOCK](a)
    same(a, expected)


@test
def dynamic_shared_memory():
    @cuda.jit
    def kernel(a):
        part = cuda.shared.array(0, float64)
        i = cuda.threadIdx.x
        part[i] = a[i]
        cuda.syncthreads()
        a[i] = part[(i + 1) % cuda.blockDim.x]

    a = np.arange(64.0)
    expected = np.roll(a, -1)
    kernel[1, 64, 0, 64 * 8](a)
    same(a, expected)


@test
def matrix_product_in_tiles():
    size, tile = 48, 16

    @cuda.jit
    def kernel(a, b, c):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row, column = cuda.grid(2)
        left = cuda.shared.array((tile, tile), float32)
        right = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for step in range(size // tile):
            left[x, y] = a[row, step * tile + y]
            right[x, y] = b[step * tile + x, column]
            cuda.syncthreads()
            for k in range(tile):
                total += left[x, k] * right[k, y]
            cuda.syncthreads()
        c[row, column] = total

    a, b = random.random((size, size), np.float32), random.random((size, size), np.float32)
    c = np.zeros((size, size), np.float32)
    kernel[(3, 3), (tile, tile)](a, b, c)
    same(c, a @ b, 1e-4)


@test
def sum_in_a_tree():
    @cuda.jit
    def kernel(a, out):
        part = cuda.shared.array(BLOCK, int64)
        i = cuda.threadIdx.x
        part[i] = a[cuda.grid(1)]
        half = BLOCK // 2
        while half > 0:
            cuda.syncthreads()
            if i < half:
                part[i] += part[i + half]
            half //= 2
        if i == 0:
            out[cuda.blockIdx.x] = part[0]

    a = integers(np.int64)[: 4 * BLOCK]
    out = np.zeros(4, np.int64)
    kernel[4, BLOCK](a, out)
    same(out, a.reshape(4, BLOCK).sum(axis=1))


@test
def local_memory():
    @cuda.jit
    def kernel(out):
        digits = cuda.local.array(10, int32)
        i = cuda.grid(1)
        for k in range(10):
            digits[k] = 0
        x = i
        while x:
            digits[x % 10] += 1
            x //= 10
        if i < out.size:
            out[i] = digits[i % 10]

    out = np.zeros(N, np.int32)
    kernel[GRID, BLOCK](out)
    same(out, [str(i).count(str(i % 10)) if i else 0 for i in range(N)])


@test
def constant_memory():
    table = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)

    @cuda.jit
    def kernel(out):
        weights = cuda.const.array_like(table)
        i = cuda.grid(1)
        if i < out.size:
            out[i] = weights[i % 8] * i

    out = np.zeros(N, np.int32)
    kernel[GRID, BLOCK](out)
    same(out, np.resize(table, N) * np.arange(N))


@test
def stencil():
    @cuda.jit
    def kernel(a, b):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[0] - 1 and 0 < y < a.shape[1] - 1:
            b[x, y] = (a[x - 1, y] + a[x + 1, y] + a[x, y - 1] + a[x, y + 1]) / 4

    a = random.random((40, 40))
    one, other = cuda.to_device(a), cuda.to_device(a)
    expected = a.copy()
    for _ in range(5):
        kernel[(5, 5), (8, 8)](one, other)
        one, other = other, one
        new = expected.copy()
        new[1:-1, 1:-1] = (expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]) / 4
        expected = new
    same(one.copy_to_host(), expected, 1e-14)


@test
def device_arrays_and_slices():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = -a[i]

    a = cuda.to_device(np.arange(100))
    kernel[1, 64](a[10:40])
    expected = np.arange(100)
    expected[10:40] *= -1
    same(a.copy_to_host(), expected)


@test
def pinned_mapped_and_managed_memory():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    for array in cuda.pinned_array(50, np.int32), cuda.mapped_array(50, np.int32), cuda.managed_array(50, np.int32):
        array[:] = np.arange(50)
        kernel[1, 64](array)
        cuda.synchronize()
        same(array, np.arange(50) + 1)


# Atomic operations.


def atomically(operation, expected, kind, start=0):
    operation = cuda.jit(device=True)(operation)

    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            operation(out, a[i])

    a = integers(kind, 0, 100)
    out = np.full(1, start, kind)
    kernel[GRID, BLOCK](a, out)
    same(out[0], expected(a))


@test
def atomic_sum():
    atomically(lambda out, x: cuda.atomic.add(out, 0, x), lambda a: a.sum(dtype=np.int32), np.int32)


@test
def atomic_sum_of_floats():
    atomically(lambda out, x: cuda.atomic.add(out, 0, x), np.sum, np.float32)


@test
def atomic_sum_of_doubles():
    atomically(lambda out, x: cuda.atomic.add(out, 0, x), np.sum, np.float64)


@test
def atomic_difference():
    atomically(lambda out, x: cuda.atomic.sub(out, 0, x), lambda a: -a.sum(), np.int64)


@test
def atomic_maximum():
    atomically(lambda out, x: cuda.atomic.max(out, 0, x), np.max, np.int64)


@test
def atomic_minimum_of_doubles():
    atomically(lambda out, x: cuda.atomic.min(out, 0, x), np.min, np.float64, 1e9)


@test
def atomic_bits():
    atomically(lambda out, x: cuda.atomic.or_(out, 0, x), np.bitwise_or.reduce, np.uint32)
    atomically(lambda out, x: cuda.atomic.and_(out, 0, x), np.bitwise_and.reduce, np.uint32, 0xFFFF_FFFF)
    atomically(lambda out, x: cuda.atomic.xor(out, 0, x), np.bitwise_xor.reduce, np.uint64)


@test
def histogram():
    @cuda.jit
    def kernel(a, out):
        part = cuda.shared.array(10, int32)
        if cuda.threadIdx.x < 10:
            part[cuda.threadIdx.x] = 0
        cuda.syncthreads()
        i = cuda.grid(1)
        if i < a.size:
            cuda.atomic.add(part, a[i], 1)
        cuda.syncthreads()
        if cuda.threadIdx.x < 10:
            cuda.atomic.add(out, cuda.threadIdx.x, part[cuda.threadIdx.x])

    a = integers(low=0, high=10)
    out = np.zeros(10, np.int32)
    kernel[GRID, BLOCK](a, out)
    same(out, np.bincount(a, minlength=10))


@test
def tickets():
    @cuda.jit
    def kernel(counter, out):
        out[cuda.atomic.inc(counter, 0, 1 << 30)] = 1

    counter, out = np.zeros(1, np.uint32), np.zeros(512, np.int32)
    kernel[4, 128](counter, out)
    same(out, np.ones(512, np.int32))


@test
def lock():
    @cuda.jit
    def kernel(lock, total):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            cuda.threadfence()
            total[0] += cuda.blockIdx.x
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)

    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    kernel[20, 32](lock, total)
    same(total[0], 190)


# Warps.


@test
def shuffles():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        mask = 0xFFFF_FFFF
        out[0, i] = cuda.shfl_sync(mask, i, 3)
        out[1, i] = cuda.shfl_up_sync(mask, i, 2)
        out[2, i] = cuda.shfl_down_sync(mask, i, 5)
        out[3, i] = cuda.shfl_xor_sync(mask, i, 1)

    out = np.zeros((4, 32), np.int32)
    kernel[1, 32](out)
    lanes = np.arange(32)
    same(
        out,
        [
            np.full(32, 3),
            np.where(lanes < 2, lanes, lanes - 2),
            np.where(lanes > 26, lanes, lanes + 5),
            lanes ^ 1,
        ],
    )


@test
def sums_in_warps():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        total = a[i]
        step = 16
        while step > 0:
            total += cuda.shfl_down_sync(0xFFFF_FFFF, total, step)
            step //= 2
        if cuda.laneid == 0:
            out[i // 32] = total

    a = floats(np.float64)[:256]
    out = np.zeros(8)
    kernel[2, 128](a, out)
    same(out, a.reshape(8, 32).sum(axis=1), 1e-12)


@test
def votes():
    @cuda.jit
    def kernel(a, out):
        i = cuda.threadIdx.x
        mask = 0xFFFF_FFFF
        out[0, i] = cuda.ballot_sync(mask, a[i] > 0)
        out[1, i] = cuda.all_sync(mask, a[i] < 100)
        out[2, i] = cuda.any_sync(mask, a[i] > 100)
        out[3, i] = cuda.eq_sync(mask, a[i] > 100)

    a = integers(low=-9, high=9)[:32]
    out = np.zeros((4, 32), np.uint32)
    kernel[1, 32](a, out)
    ballot = sum(1 << i for i in range(32) if a[i] > 0)
    same(out, np.outer([ballot, 1, 0, 1], np.ones(32)))


@test
def equal_values_in_a_warp():
    @cuda.jit
    def kernel(a, out):
        i = cuda.threadIdx.x
        out[i] = cuda.popc(cuda.match_any_sync(0xFFFF_FFFF, a[i]))

    a = integers(low=0, high=5)[:32]
    out = np.zeros(32, np.int32)
    kernel[1, 32](a, out)
    same(out, np.bincount(a)[a])


@test
def diverged_warps_meet():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 2:
            value = cuda.shfl_sync(0xAAAA_AAAA, i, 31)
        else:
            value = cuda.shfl_sync(0x5555_5555, i, 0)
        cuda.syncwarp()
        out[i] = value

    out = np.zeros(32, np.int32)
    kernel[1, 32](out)
    same(out, np.tile([0, 31], 16))


@test
def barriers_that_count():
    @cuda.jit
    def kernel(a, out):
        i = cuda.threadIdx.x
        out[0, i] = cuda.syncthreads_count(a[i])
        out[1, i] = cuda.syncthreads_and(int32(a[i] >= 0))
        out[2, i] = cuda.syncthreads_or(int32(a[i] > 5))

    a = integers(low=0, high=2)[:64]
    out = np.zeros((3, 64), np.int32)
    kernel[1, 64](a, out)
    same(out, np.outer([a.sum(), 1, 0], np.ones(64, int)))


# Streams, events, and the host.


@test
def streams_and_events():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] *= 2

    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    host = cuda.pinned_array(N, np.int64)
    host[:] = np.arange(N)
    with cuda.pinned(np.arange(4)):
        start.record(stream)
        a = cuda.to_device(host, stream=stream)
        for _ in range(3):
            kernel[GRID, BLOCK, stream](a)
        a.copy_to_host(host, stream=stream)
        end.record(stream)
    stream.synchronize()
    same(host, 8 * np.arange(N))
    assert cuda.event_elapsed_time(start, end) > 0


@test
def callbacks():
    called = []
    stream = cuda.stream()
    stream.add_callback(lambda stream, status, argument: called.append((status, argument)), 5)
    stream.synchronize()
    assert called == [(0, 5)], called


@test
def universal_functions():
    from numba import vectorize

    @vectorize(["float64(float64, float64)"], target="cuda")
    def blend(a, b):
        return 0.25 * a + 0.75 * b

    a, b = floats(np.float64), floats(np.float64)
    same(blend(a, b), 0.25 * a + 0.75 * b, 1e-14)


@test
def reductions():
    total = cuda.reduce(lambda a, b: a + b)
    a = integers(np.int64)
    same(total(a), a.sum())


@test
def several_signatures():
    @cuda.jit([void(int32[:]), void(float64[:])])
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    for kind in np.int32, np.float64:
        a = np.zeros(50, kind)
        kernel[1, 64](a)
        same(a, np.ones(50, kind))


@test
def random_numbers():
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float64

    @cuda.jit
    def kernel(states, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = xoroshiro128p_uniform_float64(states, i)

    out = np.zeros(N)
    kernel[GRID, BLOCK](create_xoroshiro128p_states(GRID * BLOCK, seed=1), out)
    assert 0 <= out.min() and out.max() < 1 and 0.4 < out.mean() < 0.6, (out.min(), out.max(), out.mean())


@test
def prints():
    @cuda.jit
    def kernel(a):
        if cuda.threadIdx.x == 2:
            print("thread", cuda.threadIdx.x, a[1], 2.5)

    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            kernel[1, 4](np.array([7, 8]))
            cuda.synchronize()
        finally:
            os.dup2(before, 1)
            os.close(before)
        file.seek(0)
        text = file.read().decode()
    assert text.split() == ["thread", "2", "8", "2.500000"], text


# Errors.


def refused(run, code):
    try:
        run()
        cuda.synchronize()
    except CudaAPIError as error:
        assert error.code == code, error
        return
    raise AssertionError(f"no error {code}")


@cuda.jit
def nothing(a):
    pass


@test
def launches_that_do_not_fit():
    a = cuda.to_device(np.zeros(1))
    refused(lambda: nothing[1, 2048](a), 1)
    refused(lambda: nothing[(1, 70_000), 1](a), 1)
    refused(lambda: nothing[1, 32, 0, 300_000](a), 1)


@test
def too_much_memory():
    refused(lambda: cuda.device_array(1 << 44, np.int8), 2)


@test
def exceptions_of_kernels():
    @cuda.jit(debug=True, opt=False)
    def kernel(a, b):
        a[0] = 1 // b[0]

    try:
        kernel[1, 1](np.ones(1, np.int64), np.zeros(1, np.int64))
    except ZeroDivisionError:
        return
    raise AssertionError("no ZeroDivisionError")


@cuda.jit
def store(a, i):
    a[i] = 1


@cuda.jit
def add_at(a, i):
    cuda.atomic.add(a, i, 1.0)


def fault(name):
    """A fault, after which numba has no context: in a process of its own, which prints the code."""
    a = cuda.to_device(np.zeros(10))
    try:
        if name == "store":
            store[1, 1](a, 1 << 40)
        else:
            add_at[1, 1](a, 1 << 40)
        cuda.synchronize()
    except CudaAPIError as error:
        print(error.code, flush=True)
    os._exit(0)


def faults_in_a_process(name):
    run = subprocess.run([sys.executable, __file__, FAULT, name], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "700", (run.stdout, run.stderr)


@test
def stores_out_of_bounds():
    faults_in_a_process("store")


@test
def atomic_operations_out_of_bounds():
    faults_in_a_process("atomic")


def main():
    names = sys.argv[1:]
    if names[:1] == [FAULT]:
        fault(names[1])
    chosen = [one for one in TESTS if not names or one.__name__ in names]
    failed, started = [], time.monotonic()
    for one in chosen:
        try:
            one()
        except Exception as error:
            failed.append(one.__name__)
            print(f"FAIL {one.__name__}: {type(error).__name__}: {error}"[:2000])
    took = time.monotonic() - started
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed ({took:.0f} s)")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    import warnings

    from numba.core.errors import NumbaPerformanceWarning

    warnings.simplefilter("ignore", NumbaPerformanceWarning)
    sys.exit(main())
