#!/usr/bin/env python3
"""Compiles products of matrices in Triton to the PTX next to this file, one for each architecture.

Needs Triton, but no GPU: pip install triton. The PTX is committed, so tests need neither.
"""

import pathlib
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, depth, a_row, b_row, c_row, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Computes a tile of `c = a b` in a ring of three buffers."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    steps = tl.arange(0, K)
    from_a = a + rows[:, None] * a_row + steps[None, :]
    from_b = b + steps[:, None] * b_row + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, depth, K):
        x = tl.load(from_a, mask=steps[None, :] < depth - at, other=0.0)
        y = tl.load(from_b, mask=steps[:, None] < depth - at, other=0.0)
        total = tl.dot(x, y, total)
        from_a += K
        from_b += K * b_row
    tl.store(c + rows[:, None] * c_row + columns[None, :], total)


# The size of a tile. From `sm_90` on, four warps multiply together.
TILES = {80: (32, 32, 32), 90: (64, 64, 64)}


def main():
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32"}
    types |= dict.fromkeys(("depth", "a_row", "b_row", "c_row"), "i32")
    types |= dict.fromkeys(("M", "N", "K"), "constexpr")
    # All addresses and sizes are multiples of 16, so that copies have 16 bytes.
    attributes = {(at,): [["tt.divisibility", 16]] for at in range(7)}
    for arch, tile in TILES.items():
        source = ASTSource(matmul, types, dict(zip("MNK", tile)), attributes)
        options = {"num_warps": 4, "num_stages": 3}
        compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
        text = compiled.asm["ptx"].split("\t.section")[0]
        lines = (re.sub(r"\s*//.*", "", line).rstrip() for line in text.splitlines())
        kept = [line for line in lines if line and not re.match(r"\s*\.(loc|file)\b", line)]
        print(f"sm_{arch}: {compiled.metadata.shared} bytes of shared memory")
        to = pathlib.Path(__file__).with_name(f"triton_matmul_{arch}.ptx")
        to.write_text("\n".join(kept) + "\n")


main()
