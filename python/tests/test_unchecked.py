"""Kernels without a declaration: in Rust, and in C (examples/c), with its functions in Python."""

import numpy as np
import pytest
import revoff
from conftest import C_IMAGE

SCALE = "scale(numbers: *const f64, products: *mut f64, count: u64, factor: f64)"


@pytest.fixture
def program(runtime, image):
    return runtime.load(image)


def test_pointers_pass_addresses(program):
    kernel = program.kernel(SCALE, unchecked=True)
    numbers, products = np.arange(6.0).reshape(2, 3), np.full(6, 7.0)
    kernel(numbers, products, 5, 0.5, teams=2, threads=2)
    assert products.tolist() == [0, 0.5, 1, 1.5, 2, 7]
    assert numbers.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_slice_is_a_pointer_and_a_count(program):
    kernel = program.kernel("scale(numbers: *const f64, products: &mut [f64], factor: f64)", unchecked=True)
    products = np.zeros(3)
    kernel(np.ones(3), products, 2.0)
    assert products.tolist() == [2, 2, 2]


def test_the_sizes_of_parameters_are_those_of_the_image(program):
    kernel = program.kernel("scale(numbers: *const f64, products: *mut f64, count: u32)", unchecked=True)
    with pytest.raises(revoff.DeviceError, match="kernel `scale` takes "):
        kernel(np.ones(1), np.ones(1), 1)


def test_arrays_fit_pointers(program):
    kernel = program.kernel(SCALE, unchecked=True)
    with pytest.raises(revoff.ArgumentError, match="does not fit `products: \\*mut f64`, which takes float64"):
        kernel(np.ones(1), np.ones(1, np.float32), 1, 1.0)
    with pytest.raises(revoff.ArgumentError, match="`products`: the array is read-only"):
        kernel(np.ones(1), np.frombuffer(bytes(8)), 1, 1.0)
    both = np.ones(2)
    with pytest.raises(revoff.ArgumentError, match="`products`: it shares memory with argument `numbers`"):
        kernel(both, both, 1, 1.0)


def test_pointers_are_for_unchecked_kernels(program):
    with pytest.raises(revoff.DeclarationError, match="`numbers` is a pointer: .*`unchecked=True` for a kernel in C"):
        program.kernel(SCALE)
    with pytest.raises(revoff.ImageError, match="has no kernel `scales`"):
        program.kernel("scales()", unchecked=True)


def test_a_kernel_in_c_is_unchecked(host):
    program = host.load(C_IMAGE)
    assert program.kernels == ["hello"]
    with pytest.raises(revoff.ImageError, match="no declaration of kernel `hello`.*pass `unchecked=True`"):
        program.kernel("hello(sums: Out<u64>)")


def test_a_kernel_in_c_calls_python(host):
    texts = []

    @revoff.function("greet(text: &[u8], team: u32, thread: u32)")
    def greet(text, team, thread):
        texts.append((text.tobytes(), team, thread))

    @revoff.function("sort(numbers: &mut [u32], sum: Out<u64>)")
    def sort(numbers, sum):
        numbers.sort()
        sum[()] = numbers.sum()

    hello = host.load(C_IMAGE, [greet, sort]).kernel("hello(sums: *mut u64)", unchecked=True)
    sums = np.zeros(4, np.uint64)
    hello(sums, teams=2, threads=2)
    assert sums.tolist() == [120] * 4
    assert sorted(texts) == [
        (b"hello from a device thread\0", team, thread) for team in range(2) for thread in range(2)
    ]


def test_calls_from_c_fit_the_declaration(host):
    """They carry the kinds and sizes of their arguments, and no place for a result."""
    for declaration, message in [
        ("greet(text: &[u8])", "3 arguments, declared are 2"),
        ("greet(text: &[u8], team: u32)", "argument 2 is mapped as"),
        ("greet(text: &[u8], team: u64, thread: u32)", "argument 1 has 4 bytes"),
        ("greet(text: &mut [u8], team: u32, thread: u32)", "argument 0 is mapped as"),
        ("greet(text: &[u8], team: u32, thread: u32) -> u32", "3 arguments, declared are 4"),
    ]:
        greet = revoff.Function(declaration, print)
        sort = revoff.Function("sort(numbers: &mut [u32], sum: Out<u64>)", lambda numbers, sum: None)
        hello = host.load(C_IMAGE, [greet, sort]).kernel("hello(sums: *mut u64)", unchecked=True)
        with pytest.raises(revoff.CallError) as caught:
            hello(np.zeros(1, np.uint64))
        assert message in str(caught.value)
