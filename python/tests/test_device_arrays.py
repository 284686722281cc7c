"""Device arrays: data that stays on the device between launches."""

import gc
import threading

import numpy as np
import pytest
import revoff
from conftest import DEADLINE, PAIR

ADD = "add(numbers: &mut [f64], amount: f64)"


@pytest.fixture
def add(runtime, image):
    return runtime.load(image).kernel(ADD)


def test_data_stays_between_launches(runtime, add):
    data = np.arange(6.0).reshape(2, 3)
    numbers = runtime.array(data)
    assert (numbers.shape, numbers.dtype, numbers.nbytes) == ((2, 3), np.float64, 48)
    assert repr(numbers) == "<revoff.DeviceArray (2, 3) float64>"
    for amount in (1.0, 10.0):
        add(numbers, amount, teams=2, threads=2)
    # Launches have not changed the array on the host.
    assert data.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert numbers.copy_to_host().tolist() == [[11, 12, 13], [14, 15, 16]]
    numbers.copy_from_host(data)
    add(numbers, 0.5)
    out = np.zeros((2, 3))
    assert numbers.copy_to_host(out) is out
    assert out.tolist() == [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]


def test_every_form(runtime, image):
    every_form = runtime.load(image).kernel(
        "every_form(factor: f64, tiny: i8, words: &[u32], pair: &Pair, sums: &mut [f64], total: &mut u64,"
        "squares: Out<[u64]>, swapped: Out<Pair>)",
        types={"Pair": PAIR},
    )
    words = runtime.array(np.arange(100, dtype=np.uint32))
    pair = runtime.array(np.array((7, 9.0), PAIR))
    sums = runtime.array(np.ones(100))
    total = runtime.zeros((), "u8")
    squares = runtime.zeros(100, np.uint64)
    swapped = np.zeros((), PAIR)
    # Together with an array on the host.
    every_form(0.5, 3, words, pair, sums, total, squares, swapped, teams=2, threads=16)
    assert (sums.copy_to_host() == 1 + np.arange(100) * 0.5).all()
    assert (squares.copy_to_host() == np.arange(100) ** 2).all()
    assert total.copy_to_host() == 3 and total.shape == ()
    assert swapped.tolist() == (9, 7.0)
    # An `Out` has what the last launch left there: it is zeroed once, by `zeros`.
    every_form(0.5, 0, words, pair, sums, total, squares, swapped)
    assert (squares.copy_to_host() == 2 * np.arange(100) ** 2).all()


def test_elements_that_are_arrays(runtime, image):
    row_sums = runtime.load(image).kernel("row_sums(rows: &[[f32; 3]], sums: Out<[f32]>)")
    rows, sums = runtime.array(np.arange(12, dtype=np.float32).reshape(4, 3)), runtime.zeros(4, "f4")
    row_sums(rows, sums)
    assert sums.copy_to_host().tolist() == [3, 12, 21, 30]


def test_pointers(runtime, image):
    scale = runtime.load(image).kernel(
        "scale(numbers: *const f64, products: *mut f64, count: u64, factor: f64)", unchecked=True
    )
    numbers, products = runtime.array([1, 2, 3.5]), runtime.zeros((3,))
    scale(numbers, products, 3, 2.0)
    assert products.copy_to_host().tolist() == [2, 4, 7]


def test_what_numpy_converts(runtime):
    assert runtime.array([[1, 2]]).dtype == np.int64
    assert runtime.array(np.arange(6)[::2]).copy_to_host().tolist() == [0, 2, 4]
    assert runtime.array(5.0).copy_to_host() == 5
    assert runtime.zeros((2, 2)).copy_to_host().tolist() == [[0, 0], [0, 0]]


def test_empty_arrays(runtime, add):
    empty = runtime.zeros((0, 3))
    add(empty, 1.0)
    empty.copy_from_host(np.zeros((0, 3)))
    assert empty.copy_to_host().shape == (0, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda runtime: runtime.zeros(3, np.float32), "an array of `float32` does not fit `numbers: &mut [f64]`, "
         "which takes float64: convert it, `.astype(float64)`"),
        (lambda runtime: revoff.Runtime("host").zeros(3), "the device array is of another runtime: launch"),
    ],
)
def test_arrays_that_do_not_fit(runtime, add, make, message):
    with pytest.raises(revoff.ArgumentError, match="kernel `add`, argument `numbers`: ") as caught:
        add(make(runtime), 1.0)
    assert message in str(caught.value)


def test_another_shape(host, image):
    row_sums = host.load(image).kernel("row_sums(rows: &[[f32; 3]], sums: Out<[f32]>)")
    with pytest.raises(revoff.ArgumentError, match=r"shape \(3, 2\) does not fit .*, which takes one of shape \(.., 3\)"):
        row_sums(host.zeros((3, 2), "f4"), host.zeros(3, "f4"))
    with pytest.raises(revoff.ArgumentError, match="argument `amount`: <revoff.DeviceArray .* is not a number"):
        host.load(image).kernel(ADD)(host.zeros(3), host.zeros(1))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, "f4"), "an array of `float32` does not fit the device array, which takes float64"),
        (np.zeros(2), "an array of shape (2,) does not fit the device array, which takes one of shape (3,)"),
        (np.zeros(6)[::2], "the array is not contiguous in memory"),
        ([0.0, 1.0, 2.0], "a `list` is not an array"),
    ],
)
def test_copies_of_arrays_that_do_not_fit(host, array, message):
    numbers = host.zeros(3)
    for copy in (numbers.copy_from_host, numbers.copy_to_host):
        with pytest.raises(revoff.ArgumentError) as caught:
            copy(array)
        assert f"`{copy.__name__}`: {message}" in str(caught.value)


def test_arrays_that_cannot_be_made(host):
    with pytest.raises(revoff.ArgumentError, match="an array of `object` cannot be on a device: it has Python objects"):
        host.array([None])
    with pytest.raises(revoff.ArgumentError, match="the array is read-only, and results go there"):
        host.zeros(1).copy_to_host(np.frombuffer(bytes(8)))
    with pytest.raises(ValueError, match="negative"):
        host.zeros(-1)
    with pytest.raises(revoff.DeviceError):
        host.zeros(1 << 55)


def test_a_freed_array(runtime, add):
    numbers = runtime.zeros(3)
    numbers.free()
    for use in [numbers.copy_to_host, lambda: numbers.copy_from_host(np.zeros(3)), numbers.free]:
        with pytest.raises(revoff.ClosedError, match="the device array has been freed: free it after its last use"):
            use()
    with pytest.raises(revoff.ClosedError, match="kernel `add`, argument `numbers`: the device array has been freed"):
        add(numbers, 1.0)


def test_after_the_end_of_the_runtime(image):
    with revoff.Runtime() as runtime:
        add = runtime.load(image).kernel(ADD)
        numbers = runtime.zeros(3)
    for use in [
        lambda: runtime.array([1]),
        lambda: runtime.zeros(1),
        numbers.copy_to_host,
        lambda: add(numbers, 1.0),
        numbers.free,
    ]:
        with pytest.raises(revoff.ClosedError, match="the runtime has been closed"):
            use()


def test_one_use_writes_or_all_read(runtime, image):
    """While a kernel has an array, its function tries what else can be done with it."""
    refused, read = [], []

    def act(what):
        for use in [
            lambda: answers.copy_to_host(),
            lambda: ask(words, answers),
            lambda: words.copy_from_host(np.zeros(2, np.uint64)),
        ]:
            with pytest.raises(revoff.ArgumentError, match="the device array is in use") as caught:
                use()
            refused.append(str(caught.value))
        read.append(words.copy_to_host().tolist())
        return what

    program = runtime.load(image, [revoff.Function("act(what: u64) -> u64", act)])
    ask = program.kernel("ask(words: &[u64], answers: &mut [u64])")
    words, answers = runtime.array(np.array([3, 4], np.uint64)), runtime.zeros(2, "u8")
    ask(words, answers)
    assert len(refused) == 6 and read == [[3, 4]] * 2
    # The uses have ended with the launch.
    words.copy_from_host(np.array([5, 6], np.uint64))
    ask(words, answers)
    assert answers.copy_to_host().tolist() == [5, 6]
    with pytest.raises(revoff.ArgumentError, match="argument `answers`: the device array is in use, as another argument"):
        ask(words, words)


def test_a_failed_launch_ends_its_uses(runtime, image):
    """An array that the kernel writes has any contents afterwards, but can be used."""

    def act(what):
        raise ValueError

    program = runtime.load(image, [revoff.Function("act(what: u64) -> u64", act)])
    words, answers = runtime.array(np.array([3], np.uint64)), runtime.zeros(1, "u8")
    with pytest.raises(revoff.CallError):
        program.kernel("ask(words: &[u64], answers: &mut [u64])")(words, answers)
    answers.copy_from_host(np.array([1], np.uint64))
    assert answers.copy_to_host().tolist() == [1]


def test_memory_is_freed_after_the_launch_that_uses_it(runtime, image):
    entered, release = threading.Event(), threading.Event()

    def act(what):
        entered.set()
        assert release.wait(DEADLINE)
        return what + 1

    program = runtime.load(image, [revoff.Function("act(what: u64) -> u64", act)])
    ask = program.kernel("ask(words: &[u64], answers: &mut [u64])")
    words, answers = runtime.array(np.array([3], np.uint64)), np.zeros(1, np.uint64)
    thread = threading.Thread(target=ask, args=(words, answers))
    thread.start()
    try:
        assert entered.wait(DEADLINE)
        words.free()
        del words
        gc.collect()
    finally:
        release.set()
        thread.join()
    assert answers.tolist() == [4]
