"""Declarations as text."""

import numpy as np
import pytest
import revoff


def declare(text, **types):
    return revoff.Function(text, print, types=types)


@pytest.mark.parametrize(
    "text",
    [
        "f()",
        "pub fn f();",
        "  fn f ( a : u8 , ) -> f32 ",
        "f(a: usize, b: &[[u8; 3]; 2], c: Out<[i16]>, d: &mut isize) -> [f64; 2]",
        "r#type(a: u8)",
    ],
)
def test_valid(text):
    assert declare(text).declaration == text.strip()


def test_a_name_that_is_a_keyword():
    assert declare("r#type(a: u8)").name == "type"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(", "declaration `f(`: "),
        ("f(a)", "write it like"),
        ("f(a: &str)", "pass its bytes, as a slice of `u8`"),
        ("f(a: [u8])", "a slice is passed as `&[T]`"),
        ("f() -> &u8", "returns by value"),
        ("f<T>(a: T)", "a host function cannot be generic"),
        ("unsafe fn f()", "a host function cannot be `unsafe`"),
        ("f(a: bool)", "type `bool` is unknown: use u8, u16, "),
        ("f(a: Pair)", 'or describe it, `types={"Pair": numpy.dtype(.., align=True)}`'),
        ("f(a: [u8; N])", "the length of the array `[u8;N]` is not a number"),
        ("f(a: &[[u8; 0]])", "the elements of `a`, of type `[u8;0]`, have no bytes"),
        ("f(a: [u64; 9999999999999999999])", "the length of the array"),
    ],
)
def test_invalid(text, message):
    with pytest.raises(revoff.DeclarationError) as caught:
        declare(text)
    assert message in str(caught.value)


def test_kernels_take_numbers_by_value(host, image):
    program = host.load(image)
    with pytest.raises(revoff.DeclarationError, match="kernels take only numbers by value, and `a` is a `\\[u8;2\\]`"):
        program.kernel("f(a: [u8; 2])")
    with pytest.raises(revoff.DeclarationError, match="a kernel returns nothing"):
        program.kernel("f() -> u8")


def test_described_types():
    declare("f(a: Pair) -> Pair", Pair=np.dtype([("x", "u4"), ("y", "u4")], align=True))
    declare("f(a: Id)", Id="u4")
    for other, message in [
        (object, "`object` cannot describe type `T`: it has Python objects"),
        ("V0", "it has no bytes"),
        (("u1", 3), "it has elements: declare an array"),
        ("nothing", "type `T`: TypeError: "),
    ]:
        with pytest.raises(revoff.DeclarationError) as caught:
            declare("f(a: T)", T=other)
        assert message in str(caught.value)
