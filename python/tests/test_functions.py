"""Host functions: their arguments and results, their exceptions, and what they keep."""

import numpy as np
import pytest
import revoff
from conftest import PAIR

READ_FORMS = "read_forms(words: &[u32], rows: &[[f32; 3]], pair: &Pair, big: [u8; 24], small: i8, float: f64) -> f32"
WRITE_FORMS = "write_forms(words: &mut [u64], pair: &mut Pair, fill: Out<[u16]>, one: Out<u32>) -> Pair"
CALL_FORMS = "call_forms(words: &mut [u64], fill: &mut [u16], results: &mut [f64])"


def bind(declaration, callable):
    return revoff.Function(declaration, callable, types={"Pair": PAIR})


def call_forms(runtime, image, *functions):
    """Launches the kernel of that name; returns its arrays."""
    program = runtime.load(image, functions)
    words, fill, results = np.arange(4, dtype=np.uint64), np.full(3, 7, np.uint16), np.full(10, -1.0)
    program.kernel(CALL_FORMS)(words, fill, results)
    return words, fill, results


def test_every_form(runtime, image):
    notes = []

    def read_forms(words, rows, pair, big, small, float):
        assert words.tolist() == [1, 2, 3] and words.dtype == np.uint32
        assert rows.tolist() == [[1, 2, 3], [4, 5, 6]]
        assert (pair["left"], pair["right"]) == (1, 2.5)
        assert big.tolist() == list(range(24))
        assert (type(small), small) == (int, -3)
        assert float == 0.5
        assert not (words.flags.writeable or rows.flags.writeable or big.flags.writeable)
        return rows.sum()

    def write_forms(words, pair, fill, one):
        assert (fill == 0).all() and one == 0
        words[::-1] = words.copy()
        pair["right"] += 1
        fill[:] = [1, 2, 3]
        one[()] = 4_000_000_000
        return (8, 0.125)

    words, fill, results = call_forms(
        runtime,
        image,
        bind(READ_FORMS, read_forms),
        bind(WRITE_FORMS, write_forms),
        bind("corners(scale: f64) -> [f64; 4]", lambda scale: np.arange(4) * scale),
        bind("note(text: &[u8])", lambda text: notes.append(text.tobytes())),
    )
    assert words.tolist() == [3, 2, 1, 0]
    assert fill.tolist() == [1, 2, 3]
    assert results.tolist() == [21, 1, 3.5, 4_000_000_000, 8, 0.125, 0, 3, 6, 9]
    assert notes == [b"done", b""]


def test_an_exception_is_the_cause(ask):
    def act(what):
        if what == 5:
            raise ValueError(f"not {what}")
        return what

    launch = ask(act)
    with pytest.raises(revoff.CallError, match="kernel `ask`: host function `act` failed: ValueError: not 5") as caught:
        launch(range(10), threads=4)
    cause = caught.value.__cause__
    assert type(cause) is ValueError
    assert cause.__traceback__.tb_frame.f_code is act.__code__
    # The function and its kernel can be used again.
    assert launch([1, 2]).tolist() == [1, 2]


def test_each_launch_has_its_own_cause(ask):
    launch = ask(lambda what: 1 // (what % 2) or [][what])
    with pytest.raises(revoff.CallError) as first:
        launch([2])
    with pytest.raises(revoff.CallError) as second:
        ask(lambda what: [][what])([1])
    assert type(first.value.__cause__) is ZeroDivisionError
    assert type(second.value.__cause__) is IndexError


def test_nothing_is_copied_back_after_an_exception(ask, runtime, image):
    def fail(*_):
        raise RuntimeError

    program = runtime.load(image, [revoff.Function("act(what: u64) -> u64", fail)])
    answers = np.full(3, 7, np.uint64)
    with pytest.raises(revoff.CallError):
        program.kernel("ask(words: &[u64], answers: &mut [u64])")(np.zeros(3, np.uint64), answers)
    assert answers.tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (-1, "TypeError: the result: -1 does not fit in a `u64`"),
        (None, "the result: None of type `NoneType` is not an integer"),
        (1.5, "the result: 1.5 of type `float` is not an integer"),
        ("a" * 100, "the result: '" + "a" * 39 + ".. of type `str`"),
    ],
)
def test_a_result_of_another_type(ask, result, message):
    with pytest.raises(revoff.CallError) as caught:
        ask(lambda what: result)([1])
    assert message in str(caught.value)
    assert type(caught.value.__cause__) is TypeError


def with_corners(corners):
    """All functions of `call_forms`, of which `corners` does what the test is about."""
    return [
        bind(READ_FORMS, lambda *_: 0),
        bind(WRITE_FORMS, lambda *_: (0, 0)),
        bind("corners(scale: f64) -> [f64; 4]", corners),
        bind("note(text: &[u8])", len),
    ]


def test_an_array_of_another_shape(host, image):
    with pytest.raises(revoff.CallError, match=r"the result has shape \[3\], but a `\[f64;4\]` has shape \[4\]"):
        call_forms(host, image, *with_corners(lambda scale: [scale] * 3))


def test_a_result_that_is_not_contiguous(host, image):
    results = call_forms(host, image, *with_corners(lambda scale: np.arange(8.0)[::-2]))[2]
    assert results[6:].tolist() == [7, 5, 3, 1]


def test_a_number_that_is_too_large_for_a_float(host, image):
    functions = [bind(READ_FORMS, lambda *_: 1e39), *with_corners(lambda scale: [scale] * 4)[1:]]
    with pytest.raises(revoff.CallError, match=r"the result: 1e\+39 does not fit in a `f32`"):
        call_forms(host, image, *functions)
    functions[0] = bind(READ_FORMS, lambda *_: np.inf)
    assert call_forms(host, image, *functions)[2][0] == np.inf


def test_a_kept_argument_is_a_copy(runtime, image):
    kept = []

    def write_forms(words, pair, fill, one):
        kept.extend([words, fill])
        return np.zeros((), PAIR)

    def keep(*arguments):
        kept.extend(arguments)
        return 0

    functions = [
        bind(READ_FORMS, keep),
        bind(WRITE_FORMS, write_forms),
        bind("corners(scale: f64) -> [f64; 4]", lambda scale: [scale] * 4),
        bind("note(text: &[u8])", kept.append),
    ]
    words, _, _ = call_forms(runtime, image, *functions)
    # They have the bytes of the call, and changing them changes nothing else.
    read, changed = kept[0], kept[6]
    assert read.tolist() == [1, 2, 3] and changed.tolist() == [0, 1, 2, 3]
    changed[:] = 9
    call_forms(runtime, image, *functions)
    assert read.tolist() == [1, 2, 3] and changed.tolist() == [9, 9, 9, 9]
    assert words.tolist() == [0, 1, 2, 3]


def test_an_argument_of_another_size_is_an_error(host, image):
    def write_forms(words, pair, fill, one):
        words.resize(1, refcheck=False)
        return (0, 0)

    functions = [bind(READ_FORMS, lambda *_: 0), bind(WRITE_FORMS, write_forms)]
    with pytest.raises(revoff.CallError, match="`write_forms` failed: BufferError: an array of 32 contiguous bytes"):
        call_forms(host, image, *functions)


def test_functions_are_checked_with_the_image(host, image):
    for other in ["act(what: u32) -> u64", "act(what: u64)", "act(what: &u64) -> u64"]:
        with pytest.raises(revoff.ImageError, match="declare `act` differently"):
            host.load(image, [revoff.Function(other, print)])
    act = revoff.Function("act(what: u64) -> u64", print)
    with pytest.raises(revoff.DeclarationError, match="host function `act` is registered twice"):
        host.load(image, [act, act])
    # The image does not declare this one, so no kernel calls it.
    host.load(image, [revoff.Function("other()", print)])


def test_a_function_that_is_not_registered(host, image):
    kernel = host.load(image).kernel("ask(words: &[u64], answers: &mut [u64])")
    with pytest.raises(revoff.CallError, match=r"\(`act`\) is not registered"):
        kernel(np.zeros(1, np.uint64), np.zeros(1, np.uint64))


def test_a_decorated_function_can_be_called():
    @revoff.function("pub fn act(what: u64) -> u64;")
    def act(what, *, more=0):
        return what + more

    assert act(3, more=4) == 7
    assert (act.name, act.declaration) == ("act", "pub fn act(what: u64) -> u64;")
    assert act.__wrapped__(1) == 1
    with pytest.raises(TypeError, match="an object of type `int` cannot be called"):
        revoff.Function("act(what: u64) -> u64", 3)


def test_a_function_launches_a_kernel(runtime, image):
    program = runtime.load(image)
    sums = program.kernel("row_sums(rows: &[[f32; 3]], sums: Out<[f32]>)")

    def act(what):
        result = np.zeros(1, np.float32)
        sums(np.full((1, 3), what, np.float32), result)
        return int(result[0])

    outer = runtime.load(image, [revoff.Function("act(what: u64) -> u64", act)])
    answers = np.zeros(20, np.uint64)
    outer.kernel("ask(words: &[u64], answers: &mut [u64])")(np.arange(20, dtype=np.uint64), answers, threads=4)
    assert answers.tolist() == [3 * n for n in range(20)]
