"""Launches with arrays: those that fit are copied as declared, all others are rejected."""

import numpy as np
import pytest
import revoff
from conftest import PAIR

EVERY_FORM = """pub fn every_form(
    factor: f64, tiny: i8, words: &[u32], pair: &Pair, sums: &mut [f64], total: &mut u64,
    squares: Out<[u64]>, swapped: Out<Pair>,
);"""
ROW_SUMS = "row_sums(rows: &[[f32; 3]], sums: Out<[f32]>)"


@pytest.fixture
def every_form(runtime, image):
    return runtime.load(image).kernel(EVERY_FORM, types={"Pair": PAIR})


@pytest.fixture
def row_sums(host, image):
    return host.load(image).kernel(ROW_SUMS)


def arguments(count=100):
    return {
        "factor": 0.5,
        "tiny": -7,
        "words": np.arange(count, dtype=np.uint32),
        "pair": np.array((7, 9.0), PAIR),
        "sums": np.ones(count),
        "total": np.array(10, np.uint64),
        "squares": np.full(count, 5, np.uint64),
        "swapped": np.zeros((), PAIR),
    }


def test_every_form(every_form):
    given = arguments()
    report = every_form(*given.values(), teams=2, threads=16)
    assert report.seconds > 0
    words = np.arange(100)
    assert (given["words"] == words).all()
    assert (given["sums"] == 1 + words * 0.5).all()
    # `Out` arguments begin as zeros on the device.
    assert (given["squares"] == words**2).all()
    assert given["total"] == 3
    assert given["swapped"]["left"] == 9 and given["swapped"]["right"] == 7.0


def test_empty_arrays(every_form):
    given = arguments(count=0)
    every_form(*given.values())
    assert given["total"] == 3


def test_numbers_of_numpy(every_form):
    given = arguments() | {"factor": np.float32(0.25), "tiny": np.int64(-1)}
    every_form(*given.values())
    assert given["sums"][4] == 2.0 and given["total"] == 9


def test_rows_are_elements(row_sums):
    sums = np.zeros(4, np.float32)
    row_sums(np.arange(12, dtype=np.float32).reshape(4, 3), sums)
    assert sums.tolist() == [3, 12, 21, 30]
    # Further dimensions are rows of rows.
    row_sums(np.ones((2, 2, 3), np.float32), sums)
    assert sums.tolist() == [3, 3, 3, 3]


def test_objects_with_a_buffer_are_arrays(row_sums):
    rows = memoryview(bytes(np.ones(6, np.float32))).cast("f", (2, 3))
    sums = bytearray(8)
    row_sums(rows, memoryview(sums).cast("f"))
    assert np.frombuffer(sums, np.float32).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tiny", 128, "argument `tiny`: 128 does not fit in a `i8`"),
        ("tiny", 1.0, "argument `tiny`: 1.0 of type `float` is not an integer, which a `i8` takes"),
        ("factor", "1", "argument `factor`: '1' of type `str` is not a number"),
        ("factor", 10**400, "does not fit in a `f64`"),
        ("words", [1, 2], "a `list` is not an array: pass a NumPy array, `numpy.asarray(.., uint32)`"),
        ("words", 5, "a `int` is not an array"),
        ("words", np.arange(100), "an array of `int64` does not fit `words: &[u32]`, which takes uint32: "
         "convert it, `.astype(uint32)`"),
        ("words", np.arange(100, dtype=">u4"), "an array of `>u4` does not fit"),
        ("words", np.arange(200, dtype=np.uint32)[::2], "not contiguous in memory: pass a copy, "
         "`numpy.ascontiguousarray(..)`"),
        ("sums", np.ones(200)[::2], "and copy the results back"),
        ("sums", np.frombuffer(bytes(800)), "argument `sums`: the array is read-only, and results go there"),
        ("squares", np.frombuffer(bytes(801), np.uint8)[1:].view(np.uint64), "is not aligned"),
        # NumPy calls it aligned, and its dtype equal to the one that is.
        ("pair", np.frombuffer(bytes(33), np.uint8)[1:][: PAIR.itemsize].view(
            np.dtype([(name, PAIR[name]) for name in PAIR.names])), "is not aligned"),
        ("total", np.zeros(2, np.uint64), "an array of shape (2,) does not fit `total: &mut u64`, which takes "
         "one of shape () or (1,)"),
        ("pair", np.zeros(3, PAIR), "an array of shape (3,) does not fit `pair: &Pair`"),
        ("pair", np.zeros((), np.dtype([("left", "u8"), ("right", "i8")])), "does not fit `pair: &Pair`"),
    ],
)
def test_arguments_that_do_not_fit(every_form, name, value, message):
    given = arguments() | {name: value}
    with pytest.raises(revoff.ArgumentError, match="kernel `every_form`, argument ") as caught:
        every_form(*given.values())
    assert message in str(caught.value)
    assert given["total"].sum() in (0, 10)


def test_rows_of_another_length(row_sums):
    with pytest.raises(revoff.ArgumentError) as caught:
        row_sums(np.ones((3, 2), np.float32), np.ones(3, np.float32))
    assert "an array of shape (3, 2) does not fit `rows: &[[f32;3]]`, which takes one of shape (.., 3)" in str(
        caught.value
    )


def test_memory_that_is_written_is_not_shared(every_form):
    given = arguments()
    given["squares"] = given["sums"].view(np.uint64)[50:]
    with pytest.raises(revoff.ArgumentError, match="`squares`: it shares memory with argument `sums`"):
        every_form(*given.values())
    # The end of one is the start of the other.
    given["squares"] = given["sums"].view(np.uint64)[50:]
    given["sums"] = given["sums"][:50]
    every_form(*given.values())


def test_another_number_of_arguments(row_sums):
    with pytest.raises(revoff.ArgumentError, match="takes 2 arguments, not 1: it is declared as `row_sums"):
        row_sums(np.ones((3, 3), np.float32))


def test_a_grid_without_threads(row_sums):
    with pytest.raises(revoff.DeviceError, match="cannot launch 0 teams of 1 thread"):
        row_sums(np.ones((1, 3), np.float32), np.ones(1, np.float32), teams=0)


@pytest.mark.parametrize("number", [-1, 1 << 32])
def test_a_grid_of_no_size(row_sums, number):
    for name in ["teams", "threads"]:
        with pytest.raises(revoff.ArgumentError, match=f"{name}={number}: pass a number from 1"):
            row_sums(np.ones((1, 3), np.float32), np.ones(1, np.float32), **{name: number})


def test_a_kernel_that_panics(runtime, image):
    with pytest.raises(revoff.LaunchError, match="kernel `trap`: ") as caught:
        runtime.load(image).kernel("trap()")()
    assert type(caught.value) is revoff.LaunchError
    assert caught.value.__cause__ is None


def test_the_declaration_is_the_images(host, image):
    program = host.load(image)
    assert {"ask", "row_sums"} <= set(program.kernels)
    with pytest.raises(revoff.ImageError, match="has no kernel `row_sum`; it has .*row_sums"):
        program.kernel("row_sum(rows: &[[f32; 3]], sums: Out<[f32]>)")
    for other in [
        "row_sums(rows: &[[f32; 4]], sums: Out<[f32]>)",
        "row_sums(rows: &[[f32; 3]], sums: &mut [f32])",
        "row_sums(rows: &[f32], sums: Out<[f32]>)",
        "row_sums(rows: &[[f32; 3]])",
    ]:
        with pytest.raises(revoff.ImageError, match="declare kernel `row_sums` differently"):
            program.kernel(other)
    packed = np.dtype([("left", "u8"), ("right", "f8")])
    with pytest.raises(revoff.ImageError, match="declare kernel `every_form` differently"):
        program.kernel(EVERY_FORM, types={"Pair": packed})
