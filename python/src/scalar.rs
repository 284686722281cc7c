//! Numbers: between their bytes and Python's `int` and `float`.

use std::alloc::Layout;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// The bytes of a number; the first ones, as many as its type has.
pub(crate) type NumberBytes = [u8; 8];

/// A Python object is not a number of the declared type.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScalarError {
    /// It is another number.
    #[error("{value} does not fit in a `{scalar}`")]
    OutOfRange {
        /// The number.
        value: String,
        /// The declared type.
        scalar: &'static str,
    },
    /// It is something else.
    #[error("{value} of type `{found}` is not {expected}, which a `{scalar}` takes")]
    OtherType {
        /// The object.
        value: String,
        /// Its type.
        found: String,
        /// A description of what would be accepted.
        expected: &'static str,
        /// The declared type.
        scalar: &'static str,
    },
}

/// Conversions of one type of numbers.
struct Conversions {
    name: &'static str,
    /// NumPy's name of the type.
    dtype: &'static str,
    layout: Layout,
    decode: for<'py> fn(Python<'py>, &[u8]) -> PyResult<Bound<'py, PyAny>>,
    encode: fn(&Bound<'_, PyAny>) -> Result<NumberBytes, ScalarError>,
}

/// A type of numbers.
#[derive(Clone, Copy)]
pub(crate) struct Scalar(&'static Conversions);

macro_rules! scalars {
    ($($name:ident $dtype:literal $from:ident)*) => {
        static SCALARS: &[Conversions] = &[$(Conversions {
            name: stringify!($name),
            dtype: $dtype,
            layout: Layout::new::<$name>(),
            decode: |py, bytes| {
                let bytes = bytes.try_into().expect("as many bytes as its layout has");
                Ok($name::from_ne_bytes(bytes).into_pyobject(py)?.into_any())
            },
            encode: |value| {
                let number: $name = $from(value, stringify!($name))?;
                Ok(padded(&number.to_ne_bytes()))
            },
        }),*];
    };
}

scalars! {
    u8 "uint8" integer
    u16 "uint16" integer
    u32 "uint32" integer
    u64 "uint64" integer
    usize "uint64" integer
    i8 "int8" integer
    i16 "int16" integer
    i32 "int32" integer
    i64 "int64" integer
    isize "int64" integer
    f32 "float32" single
    f64 "float64" double
}

impl Scalar {
    /// The type with this name in Rust.
    pub(crate) fn named(name: &str) -> Option<Self> {
        SCALARS.iter().find(|scalar| scalar.name == name).map(Self)
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        let names: Vec<_> = SCALARS.iter().map(|scalar| scalar.name).collect();
        names.join(", ")
    }

    /// NumPy's name of the type.
    pub(crate) fn dtype(self) -> &'static str {
        self.0.dtype
    }

    pub(crate) fn layout(self) -> Layout {
        self.0.layout
    }

    /// The number with these bytes.
    pub(crate) fn decode<'py>(self, py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        (self.0.decode)(py, bytes)
    }

    /// The bytes of a number; objects that convert without loss to `int` or `float`, such as NumPy's
    /// numbers, are numbers.
    pub(crate) fn encode(self, value: &Bound<'_, PyAny>) -> Result<NumberBytes, ScalarError> {
        (self.0.encode)(value)
    }
}

fn padded(bytes: &[u8]) -> NumberBytes {
    let mut padded = NumberBytes::default();
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

fn integer<'a, 'py, T>(value: &'a Bound<'py, PyAny>, scalar: &'static str) -> Result<T, ScalarError>
where
    T: FromPyObject<'a, 'py, Error = PyErr>,
{
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            out_of_range(value, scalar)
        } else {
            other_type(value, "an integer", scalar)
        }
    })
}

fn double(value: &Bound<'_, PyAny>, scalar: &'static str) -> Result<f64, ScalarError> {
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            out_of_range(value, scalar)
        } else {
            other_type(value, "a number", scalar)
        }
    })
}

/// Rounds, as NumPy does.
fn single(value: &Bound<'_, PyAny>, scalar: &'static str) -> Result<f32, ScalarError> {
    let wide = double(value, scalar)?;
    let narrow = wide as f32;
    if narrow.is_infinite() && wide.is_finite() {
        return Err(out_of_range(value, scalar));
    }
    Ok(narrow)
}

fn out_of_range(value: &Bound<'_, PyAny>, scalar: &'static str) -> ScalarError {
    ScalarError::OutOfRange {
        value: describe(value),
        scalar,
    }
}

fn other_type(
    value: &Bound<'_, PyAny>,
    expected: &'static str,
    scalar: &'static str,
) -> ScalarError {
    ScalarError::OtherType {
        value: describe(value),
        found: type_name(value),
        expected,
        scalar,
    }
}

/// The start of an object's `repr`.
fn describe(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 40;
    let text = match value.repr() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => return "an object".to_owned(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// The name of an object's type.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(
        |_| "?".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
